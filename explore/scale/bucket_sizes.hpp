#pragma once

#include <vector>

#include "explore/ask/answered.hpp"

namespace twinstep::explore {

/// A step with gradient buckets of one size.
struct BucketPoint {
  Bytes bucket;
  Duration step_time;
};

/// The step of one strategy against the size of its buckets.
struct BucketCurve {
  std::size_t place = 0;            ///< of the scenario in its question
  std::vector<BucketPoint> points;  ///< one at least, the smallest bucket first
};

/// The curves of the scenarios that ran and whose strategy has buckets: sizes from 1 MiB to 4 GiB, each twice the one
/// before it, but for those that the plan refuses. Costs a simulation a point, on all cores.
[[nodiscard]] std::vector<BucketCurve> bucket_curves(Answered const& question);

}  // namespace twinstep::explore
