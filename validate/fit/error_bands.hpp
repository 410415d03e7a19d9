#pragma once

#include <span>
#include <vector>

#include "sim/hardware/library.hpp"

/// How far measurements lie from predictions that have not seen them, as intervals for the next ones.
namespace twinstep::validate {

/// The logarithm of measured over predicted time of one point that took no part in the fit.
struct LeftOutPoint {
  Bytes size;
  double deviation = 0;
  double weight = 1;  ///< what it counts, for instance one over its system's points
};

/// For each range of sizes the band, as wide up as down in logarithms, that holds nine tenths of the points (the
/// quantile by Hazen's places). Ranges with fewer than nine points take all points together; where these are fewer than
/// nine too, the largest deviation is widened by a half. `source` is what the profile says of them.
[[nodiscard]] hardware::ErrorBands symmetric_bands(std::span<LeftOutPoint const> points, std::string const& source);

/// For each range of sizes from the 5th to the 95th percentile of the weighted points. Nothing for a range without.
[[nodiscard]] hardware::ErrorBands quantile_bands(std::span<LeftOutPoint const> points, std::string const& source);

}  // namespace twinstep::validate
