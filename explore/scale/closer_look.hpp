#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "explore/ask/answered.hpp"
#include "explore/scale/bucket_sizes.hpp"
#include "explore/scale/bus_bandwidth.hpp"
#include "explore/scale/parameters.hpp"
#include "explore/scale/scaling.hpp"
#include "reports/why.hpp"

namespace twinstep::explore {

/// A question with its answers, and all that a report says beyond them. What lies beyond is empty where no strategy can
/// be laid out.
struct CloserLook {
  Answered question;                            ///< its steps ran
  std::vector<Duration> without_communication;  ///< the step time of each scenario that ran, with communication free
  std::optional<reports::Why> why;              ///< the best scenario takes so long
  Scaling scaling;
  std::vector<CollectiveCurve> collectives;
  std::vector<Effect> effects;  ///< on the best scenario
  std::vector<BucketCurve> buckets;
};

/// Hears that work begins with the `part`th of so many parts: "scaling".
using Listener = std::function<void(std::size_t part, std::size_t parts, std::string_view name)>;

/// Runs the steps of the question that have not run, and looks closer. Throws InputError for what no clock can count.
/// Cost: some 400 simulations for six strategies, on all cores.
[[nodiscard]] CloserLook look_closer(Answered question, Listener const& listener);

}  // namespace twinstep::explore
