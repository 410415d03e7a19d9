#pragma once

#include <string>
#include <variant>
#include <vector>

#include "reports/summary.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// The answer for one of several scenarios: a step, or the reason why there is none.
struct NamedSummary {
  std::string name;
  std::variant<Summary, Infeasible> answer;
};

/// Scenarios side by side, one a row, in the order given: a table of speed (with exposed
/// communication), a table of memory at the peak, and a sentence for each scenario that does not fit or cannot run. The
/// columns of the second table add up to its total, what is allocated; "used" is what nvidia-smi would show at most.
[[nodiscard]] std::string scenarios_table(std::vector<NamedSummary> const& scenarios, TextStyle const& style = {});

}  // namespace twinstep::reports
