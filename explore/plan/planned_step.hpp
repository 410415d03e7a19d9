#pragma once

#include <string>

#include "explore/plan/search.hpp"
#include "reports/plan.hpp"

namespace twinstep::explore::plan {

/// The columns of a simulated candidate, without capacity, job and settings.
[[nodiscard]] reports::PlannedStep planned_step(hardware::Cluster const& cluster, Simulated const& simulated);

/// Bytes of a checkpoint: parameters as they are held, masters and moments, once.
[[nodiscard]] Bytes checkpoint_bytes(strategies::ModelSpec const& model, strategies::Plan const& plan);

}  // namespace twinstep::explore::plan
