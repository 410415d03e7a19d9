#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "validate/fit/compute_calibration.hpp"

namespace twinstep::validate {

/// The numbers of a node that kernels and copies of one GPU decide.
enum class ComputeNumber : std::uint8_t {
  kGemm,
  kGemmHalfK,
  kAttentionForward,
  kAttentionBackward,
  kMemory,
  kKernelStart,
  kPcie
};
inline constexpr std::size_t kComputeNumbers = 7;

/// Where one stands, what it may be, and how far its profile may be trusted.
struct ComputeNumberInfo {
  std::string_view path;
  double least = 0;
  double most = 1;
  double doubt = 1;  ///< standard deviation of the profile's value, in logarithms
};
[[nodiscard]] ComputeNumberInfo const& info_of(ComputeNumber number);

using ComputeValues =
    std::array<double, kComputeNumbers>;  ///< by ComputeNumber, in the units of hw_profiles::number_at

[[nodiscard]] ComputeValues values_of(hardware::Node const& node);
/// `node` with these values.
[[nodiscard]] hardware::Node with_values(hardware::Node node, ComputeValues const& values);

/// What the model says that a kernel or copy takes, alone on its GPU. Requires `work`.
[[nodiscard]] Seconds kernel_time(KernelRecord const& record, hardware::Node const& node);

/// The number that decides a kernel most.
[[nodiscard]] ComputeNumber decided_by(KernelRecord const& record);

/// What one set of measurements makes of a node's numbers.
struct ComputeFit {
  ComputeValues values{};
  std::array<std::int64_t, kComputeNumbers> points{};  ///< that decide each
  std::array<std::string, kComputeNumbers> left_out;   ///< why a number stays as the prior has it
  std::string mix_note;                                ///< where steps moved both attention rates by one factor
};

/// Kernels first, then whole steps for what kernels leave open: the GEMM efficiency where no GEMM was measured, and one
/// factor on both rates of attention where no attention was. Residuals are logarithms of predicted over measured, of
/// which outliers beyond some 5 % count less and less (Cauchy's loss); the prior's values are one observation more.
[[nodiscard]] ComputeFit fit_compute(ComputeMeasurements const& measured, hardware::Node const& prior);

}  // namespace twinstep::validate
