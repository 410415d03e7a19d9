#pragma once

#include <functional>

#include "explore/plan/plan_question.hpp"
#include "reports/plan.hpp"

namespace twinstep::explore::plan {

/// Searches every number of GPUs and every cluster that are asked for, ranks what fits, and finds the fewest GPUs
/// that do. `progress` is told of every simulation, from any thread. Throws InputError.
[[nodiscard]] reports::Plans make_plans(PlanQuestion const& asked, std::function<void()> const& progress);

}  // namespace twinstep::explore::plan
