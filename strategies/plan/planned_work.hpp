#pragma once

#include "strategies/model/work.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// The kernels of one micro-batch of the plan on one rank, without what its strategy adds: of the whole model, or of
/// the rank's share of every layer.
[[nodiscard]] ModelWork planned_work(ModelSpec const& model, Plan const& plan);

}  // namespace twinstep::strategies
