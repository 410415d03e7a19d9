#pragma once

#include <optional>
#include <vector>

#include "validate/score/step_score.hpp"

namespace twinstep::validate {

/// Two factors on a prediction.
struct FactorBand {
  double low = 1;
  double high = 1;
};

/// Where nine of ten further values lie of which `factors` are a sample: its 5 % and 95 % quantiles, moved out by what
/// a sample of n cannot see (the order statistics (n + 1) · 0.05 and (n + 1) · 0.95, or the extremes). Nothing for
/// fewer than ten.
/// Source: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World (2005), split conformal prediction.
[[nodiscard]] std::optional<FactorBand> band_of(std::vector<double> factors);

/// Gives each predicted row its interval, from the factors measured / predicted of the other scored rows of its family:
/// of the same GPU where ten of them are, else of all GPUs; where the family has not ten, from the rows of other
/// families that no constant has seen: what a prediction without a calibration of its own is worth.
void set_intervals(std::vector<ScoredStep>& rows);

/// How good intervals are: the part of scored rows that lie in theirs, and the median half-width as a part of the
/// prediction.
struct IntervalQuality {
  std::int64_t rows = 0;
  double inside = 0;
  double half_width = 0;
};
/// Nothing where no row has an interval.
[[nodiscard]] std::optional<IntervalQuality> quality_of(std::vector<ScoredStep> const& rows);

}  // namespace twinstep::validate
