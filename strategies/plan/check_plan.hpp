#pragma once

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// Throws InputError for choices of a plan that contradict each other, at the place of one of them; and for steps
/// beyond what counters hold and what can be simulated.
void check_plan(io::Node const& training, io::Node const& strategy, ModelSpec const& model, Plan const& plan);

}  // namespace twinstep::strategies
