#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::explore {

class Parts;

/// One question: this model, trained by this plan, on this cluster.
struct Scenario {
  std::shared_ptr<hardware::Cluster const> cluster;
  strategies::ModelSpec model;
  strategies::Plan plan;
  std::vector<std::string> warnings;
  bool network_is_free = false;    ///< communication takes no time: the experiment that tells what it costs
  bool is_one_of_several = false;  ///< "strategy" is a list
  std::string strategy_title;      ///< "zero-3 + recompute": the row of a table; no two scenarios of a file share it
  std::shared_ptr<Parts> parts;    ///< shared with variations; none where the scenario is like no other

  /// "llama-2-7b, zero-3 + recompute, 32 ranks on 4 × dgx-h100 (dgx-h100-ndr)"
  [[nodiscard]] std::string title() const;
};

/// The scenario on another cluster, which nothing shares with it.
[[nodiscard]] Scenario on(hardware::Cluster cluster, Scenario scenario);

}  // namespace twinstep::explore
