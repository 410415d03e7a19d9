#pragma once

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// Reads what single frameworks let their users choose, each key under the framework's own name, into `plan`, whose
/// strategy and ranks are known. `model` gives "auto" its value, as Hugging Face resolves it. Throws InputError: a key
/// of another framework is refused with the strategies that have it, an unknown one with the nearest known.
void read_options(io::Node const& strategy, ModelSpec const& model, Plan& plan);

}  // namespace twinstep::strategies
