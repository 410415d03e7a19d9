#pragma once

#include <optional>
#include <span>

#include "sim/base/units.hpp"

namespace twinstep::measure {

/// What repeated measurements of one time come to.
struct Spread {
  Duration median;
  Duration low;   ///< the 10th percentile
  Duration high;  ///< … and the 90th
  std::size_t samples = 0;
  /// Half the width of the median's 95 % confidence interval, as a share of the median. Nothing below six samples,
  /// which have no such interval.
  std::optional<double> precision;
  /// How much longer the last third of the samples took than the first, as a share of it: a machine that throttles
  /// grows slower. Nothing below six samples.
  std::optional<double> drift;
};

/// Percentiles are interpolated linearly between samples (Hyndman and Fan, The American Statistician 50, 1996,
/// definition 7). The interval lies between order statistics x(j) and x(n+1-j), with the largest j at which
/// P(Binomial(n, 1/2) < j) <= 2.5 %; it holds for every distribution (Conover, Practical Nonparametric Statistics, 3rd
/// edition, section 3.2). Requires at least one sample. `samples` are in the order in which they were taken.
[[nodiscard]] Spread spread_of(std::span<Duration const> samples);

/// The time below which `share` of the samples lie. Requires sorted samples, at least one.
[[nodiscard]] Duration percentile(std::span<Duration const> sorted, double share);

/// The largest j of the interval above; 0 where there is none, below six samples.
[[nodiscard]] std::size_t median_interval_rank(std::size_t samples);

}  // namespace twinstep::measure
