#pragma once

#include <array>
#include <string>

#include "validate/fit/compute_calibration.hpp"
#include "validate/fit/compute_numbers.hpp"

namespace twinstep::validate {

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
