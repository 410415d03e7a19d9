#pragma once

#include <string>

#include "reports/plan.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// One word of a command line as a shell reads it: in single quotes, unless it has none but plain characters.
[[nodiscard]] std::string shell_text(std::string_view word);

/// Why the goal is missed, if it is; the ranking, what each plan comes to as a job, the front of time and cost, the
/// fewest GPUs, and what was left out. `command` is how the best plan is simulated but for its settings:
/// "twinstep simulate scenario.json". It is never cut, so that it can be pasted.
[[nodiscard]] std::string plans_text(Plans const& plans, std::string const& command, TextStyle const& style);

}  // namespace twinstep::reports
