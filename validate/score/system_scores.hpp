#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/score/accuracy.hpp"
#include "validate/score/baselines.hpp"
#include "validate/score/collective_case.hpp"

namespace twinstep::validate {

/// What the records of one system add up to.
struct SystemScore {
  std::string system;
  std::int64_t records = 0;
  std::optional<double> mape;  ///< mean over its records
  std::optional<double> worst;
  std::optional<double> rank_correlation;  ///< of predicted and measured times
  std::optional<double> baseline_mape;
};

/// One score a system, by name. `predicted` and `baseline` have an entry for each record.
[[nodiscard]] std::vector<SystemScore> scores_of(std::span<CollectiveRecord const> records,
                                                 std::span<Predictions const> predicted,
                                                 std::span<Predictions const> baseline);

/// How often measurements lie in their intervals.
struct Coverage {
  std::int64_t points = 0;       ///< that have an interval, outliers left out
  double inside = 0;             ///< a part of them
  double median_half_width = 0;  ///< half of high - low over the prediction
};

using Intervals = std::vector<std::optional<TimeInterval>>;  ///< one for each point of a record

/// Nothing where no point has an interval. A point in no `counted` record does not count.
[[nodiscard]] std::optional<Coverage> coverage_of(std::span<CollectiveRecord const> records,
                                                  std::span<Predictions const> predicted,
                                                  std::span<Intervals const> intervals,
                                                  std::vector<bool> const& counted);

}  // namespace twinstep::validate
