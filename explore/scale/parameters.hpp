#pragma once

#include <string>
#include <vector>

#include "explore/ask/scenario.hpp"

namespace twinstep::explore {

/// One number of a machine, or a few that mean the same.
struct Parameter {
  std::string name;                  ///< "memory bandwidth"
  std::string path;                  ///< as people read it, in --set: "cluster.gpu.memory_bandwidth"
  std::vector<std::string> numbers;  ///< in the cluster's profile, all scaled together: "gpu.memory_bandwidth"
  bool helps = true;                 ///< more of it is faster: a rate; otherwise a cost
};

/// The parameters of the scenario's machine that may bear on its step: those of networks only where there are several
/// nodes, those of host memory only where something is offloaded.
[[nodiscard]] std::vector<Parameter> parameters_of(Scenario const& scenario);

/// What one parameter does to a step's time: the relative change where it has 10 % more, and 10 % less.
struct Effect {
  Parameter parameter;
  double more = 0;
  double less = 0;

  /// By how much the step's time changes at most.
  [[nodiscard]] double size() const;
};

/// The effects of all parameters, the largest first. Requires a plan that can be laid out. Costs two simulations a
/// parameter, on all cores.
[[nodiscard]] std::vector<Effect> effects_of(Scenario const& scenario);

/// What of a step's time a tenth more of a rate, or a tenth less of a cost, takes away.
struct Saving {
  std::string parameter;
  double share = 0;
};

/// The savings by all parameters, the largest first. Requires a plan that can be laid out. Costs a simulation a
/// parameter, on all cores.
[[nodiscard]] std::vector<Saving> savings_of(Scenario const& scenario);

}  // namespace twinstep::explore
