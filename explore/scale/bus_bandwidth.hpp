#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explore/ask/answered.hpp"
#include "sim/base/collective_kind.hpp"
#include "sim/base/data_type.hpp"

namespace twinstep::explore {

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

}  // namespace twinstep::explore
