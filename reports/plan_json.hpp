#pragma once

#include <string>

#include "reports/plan.hpp"

namespace twinstep::reports {

/// One document: goal, plans, pareto, rejected, minimum_gpus, verdict. Times are in seconds, memory in bytes.
[[nodiscard]] std::string plans_json(Plans const& plans, Seconds wall);

}  // namespace twinstep::reports
