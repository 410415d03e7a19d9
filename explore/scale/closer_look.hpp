#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/ask/answered.hpp"
#include "explore/scale/parameters.hpp"
#include "explore/scale/scaling.hpp"
#include "reports/why.hpp"
#include "sim/base/collective_kind.hpp"
#include "sim/base/data_type.hpp"

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

/// A collective of one size, alone on the machine.
struct CollectiveSample {
  Bytes size;
  std::string way;     ///< what the library does at that size: "ring, simple"
  BytesPerSecond bus;  ///< bandwidth as nccl-tests counts it
  std::optional<BytesPerSecond> low;
  std::optional<BytesPerSecond> high;  ///< the interval that nine measurements of ten would lie in, where one is known
};

/// Messages of one size in a step.
struct StepMessages {
  std::int64_t count = 0;
  CollectiveSample sample;
};

/// The messages of one strategy's step, the smallest first.
struct StrategyMessages {
  std::string strategy;
  std::vector<StepMessages> messages;
};

/// Bus bandwidth of one kind of collective on one group of ranks against the size of messages.
struct CollectiveCurve {
  CollectiveKind kind{};
  DataType type{};
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  std::int64_t groups_per_node = 1;  ///< that work on one node at once, this one included
  std::vector<CollectiveSample> samples;
  std::vector<StrategyMessages> strategies;
};

/// Curves of all collectives that the steps of the question issue, with the steps' own messages: sizes from 1 KiB to
/// 4 GiB, each twice the one before it, in whole elements. Simulates no step.
[[nodiscard]] std::vector<CollectiveCurve> collective_curves(Answered const& question);

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
