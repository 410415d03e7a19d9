#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explore/ask/scenario.hpp"
#include "reports/why.hpp"

namespace twinstep::explore {

/// Simulates scenario `place` of a file once more with communication free, and with each of a list of single changes:
/// other strategies, recomputation, micro-batches, kernels, faster NICs. A change is a list of settings of the command
/// line, so what is printed makes exactly what was simulated; one that the readers refuse is not offered. Nothing if
/// the scenario itself cannot run. Costs some twenty simulations.
[[nodiscard]] std::optional<reports::Why> explain(std::string const& path, std::vector<std::string> const& settings,
                                                  std::size_t place);

}  // namespace twinstep::explore
