#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "validate/records/kernel_record.hpp"

/// The numbers of a node that kernels and copies of one GPU decide.
namespace twinstep::validate {

enum class ComputeNumber : std::uint8_t {
  kGemm,
  kGemmHalfK,
  kAttentionForward,
  kAttentionBackward,
  kMemory,
  kKernelStart,  ///< us
  kPcie          ///< GB/s
};
inline constexpr std::size_t kComputeNumbers = 7;

/// Where one stands, what it may be, and how far its profile may be trusted.
struct ComputeNumberInfo {
  std::string_view path;
  std::string_view unit;
  double least = 0;
  double most = 1;
  double doubt = 1;  ///< standard deviation of the profile's value, in logarithms
};
[[nodiscard]] ComputeNumberInfo const& info_of(ComputeNumber number);

using ComputeValues = std::array<double, kComputeNumbers>;  ///< by ComputeNumber, in their units

[[nodiscard]] ComputeValues values_of(hardware::Node const& node);
/// `node` with these values.
[[nodiscard]] hardware::Node with_values(hardware::Node node, ComputeValues const& values);

/// What the model says that a kernel or copy takes, alone on its GPU. Requires `work`.
[[nodiscard]] Seconds kernel_time(KernelRecord const& record, hardware::Node const& node);

/// The number that decides a kernel most.
[[nodiscard]] ComputeNumber decided_by(KernelRecord const& record);

}  // namespace twinstep::validate
