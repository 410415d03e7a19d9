#pragma once

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// Repeated layers: the blocks that recomputation counts.
[[nodiscard]] std::int64_t layers_of(ModelSpec const& model);

/// Reads "recompute" into `plan`. A word says what blocks keep ("none", "full", "selective", "per-op"); "sqrt" takes
/// about as many segments as each has blocks (Chen et al., arXiv 1604.06174), √layers rounded; an object says which
/// blocks: {"what": "full", "every": 2}, {"segment": 4}, {"first": 8}. Throws InputError for none, for more blocks
/// than the model has, and for what cannot go together.
void read_recompute(io::Node const& recompute, ModelSpec const& model, Plan& plan);

}  // namespace twinstep::strategies
