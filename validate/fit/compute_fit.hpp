#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// By ComputeNumber, in the units of hw_profiles::number_at.
using ComputeValues = std::array<double, kComputeNumbers>;

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

/// A measured kernel, copy or step in all of its predictions, in seconds.
struct StudiedPoint {
  std::string kind;  ///< as in CalibrationErrors
  double measured = 0;
  double before = 0;               ///< by the prior
  double fitted = 0;               ///< by the fit that saw it
  std::optional<double> held_out;  ///< by the one of five fits that did not; nothing below ten points
};

/// Fits the numbers of `prior` to all kernels that ran alone, copies and steps, and once more without each fifth of
/// them in turn. The prior must outlive it.
class ComputeStudy {
 public:
  ComputeStudy(ComputeMeasurements const& measured, hardware::Node const& prior);

  [[nodiscard]] ComputeFit const& fit() const { return fit_; }
  [[nodiscard]] std::vector<StudiedPoint> const& points() const { return points_; }
  [[nodiscard]] ComputeValues before() const { return values_of(prior_); }

  /// A standard deviation of the logarithm of a number: the jackknife's; without the five fits, that of as many
  /// measurements as decide it.
  [[nodiscard]] double spread(std::size_t number) const;

 private:
  void predict(hardware::Node const& node, double StudiedPoint::*store);
  void hold_out(std::size_t fold);

  ComputeMeasurements sample_;
  hardware::Node const& prior_;
  ComputeFit fit_;
  std::vector<StudiedPoint> points_;
  std::vector<ComputeValues> folds_;
};

}  // namespace twinstep::validate
