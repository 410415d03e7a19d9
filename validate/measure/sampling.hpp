#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "validate/measure/executor.hpp"
#include "validate/measure/lanes.hpp"
#include "validate/measure/statistics.hpp"

namespace twinstep::measure {

/// When a time is known well enough.
struct Sampling {
  double precision = 0.02;         ///< of the median, half its 95 % confidence interval
  Seconds max_time{2};             ///< of one point; the batch that passes it is the last
  int iterations = 20;             ///< of a batch, at most: fewer where a tenth of `max_time` is not enough for them
  int warm_up = 5;                 ///< repetitions before them, and at most as many
  std::function<Seconds()> clock;  ///< steady; the machine's own without
};

/// What a lane was found to take, over batches.
struct LaneSample {
  Spread each;         ///< of one repetition
  Spread issue;        ///< of the host, from one repetition to the next
  int iterations = 0;  ///< of a batch
};

/// Runs the workloads side by side in batches, until the median of each is known to `precision` or `max_time` is over.
/// One repetition comes before all, unmeasured, and another one to see how many fit in a batch; where there are
/// several workloads, the shorter are repeated more often so that all end together.
///
/// Every process of the job calls it; the first one's clock decides. All get the samples of the first: call it in all,
/// and believe it there only.
[[nodiscard]] std::vector<LaneSample> sample(Executor& executor, std::span<Workload const> workloads,
                                             Sampling const& sampling);

/// What the first process says, in every process: how they agree on what to run next.
[[nodiscard]] std::int64_t told_by_first(Executor& executor, std::int64_t value);

/// What makes a spread doubtful, as parts of a sentence: percentiles far apart, a drift, a precision that was missed.
[[nodiscard]] std::vector<std::string> find_doubts(Spread const& spread, Sampling const& sampling);

}  // namespace twinstep::measure
