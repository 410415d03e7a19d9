#pragma once

#include <vector>

#include "strategies/parts/parameters.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// Whether stage 3 keeps a parameter whole on every rank.
[[nodiscard]] inline bool is_persistent(Plan const& plan, Parameters const& parameters, ParameterId id) {
  return parameters.elements(id) <= plan.deepspeed.stage3_param_persistence_threshold;
}

/// Each parameter a group of its own, in registration order, but persistent ones before all others.
[[nodiscard]] inline std::vector<std::vector<ParameterId>> persistent_first(Plan const& plan,
                                                                            Parameters const& parameters) {
  auto groups = std::vector<std::vector<ParameterId>>{};
  for (auto const comes_first : {true, false})
    for (std::size_t i = 0; i < parameters.count(); ++i)
      if (is_persistent(plan, parameters, ParameterId{i}) == comes_first) groups.push_back({ParameterId{i}});
  return groups;
}

}  // namespace twinstep::strategies
