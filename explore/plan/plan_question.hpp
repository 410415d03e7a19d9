#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explore/ask/question.hpp"
#include "explore/plan/goal.hpp"

namespace twinstep::explore::plan {

/// From so many GPUs to so many: every number that whole nodes make.
struct GpuRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// Changes of the scenario that are asked about together.
struct WhatIf {
  std::string text;  ///< as it was asked
  std::vector<io::Change> changes;
};

/// What is left free of each GPU's memory where the user says nothing.
/// Source: the measured limit of reports::memory_warning, beyond which a third of the records ran slower.
inline constexpr double kHeadroom = 0.05;

/// What is planned: a scenario, what is searched in its place, and what for.
struct PlanQuestion {
  Question scenario;                                 ///< its strategy, micro-batch and accumulation are searched
  std::vector<io::Node> clusters;                    ///< in place of the scenario's; its own where none is named
  std::vector<strategies::StrategyName> strategies;  ///< all that are offered where none is named
  std::vector<GpuRange> gpus;                        ///< as many as the cluster has where none is named
  Goal goal;
  std::vector<HourlyPrice> prices;  ///< none, one, or one for each cluster
  double headroom = kHeadroom;      ///< of each GPU's memory, left free
  std::vector<WhatIf> what_ifs;     ///< each by itself
  std::size_t top = 10;             ///< plans that are told
};

}  // namespace twinstep::explore::plan
