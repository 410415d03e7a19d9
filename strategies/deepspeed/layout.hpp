#pragma once

#include <vector>

#include "strategies/parts/parameters.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// Whether stage 3 keeps a parameter whole on every rank.
[[nodiscard]] inline bool is_persistent(DeepSpeedOptions const& options, Parameters const& parameters, ParameterId id) {
  return parameters.elements(id) <= options.stage3_param_persistence_threshold;
}

/// Each parameter a group of its own, in registration order, but persistent ones before all others.
[[nodiscard]] inline std::vector<std::vector<ParameterId>> persistent_first(DeepSpeedOptions const& options,
                                                                            Parameters const& parameters) {
  auto groups = std::vector<std::vector<ParameterId>>{};
  for (auto const comes_first : {true, false})
    for (std::size_t i = 0; i < parameters.count(); ++i)
      if (is_persistent(options, parameters, ParameterId{i}) == comes_first) groups.push_back({ParameterId{i}});
  return groups;
}

}  // namespace twinstep::strategies
