#pragma once

#include <functional>

#include "explore/plan/plan_options.hpp"
#include "reports/plan.hpp"

namespace twinstep::explore::plan {

/// Searches every number of GPUs and every cluster that the options name, ranks what fits, and finds the fewest GPUs
/// that do. `progress` is told of every simulation, from any thread. Throws InputError.
[[nodiscard]] reports::Plans make_plans(PlanOptions const& options, std::function<void()> const& progress);

}  // namespace twinstep::explore::plan
