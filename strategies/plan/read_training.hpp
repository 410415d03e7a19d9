#pragma once

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// Reads the "training" of a scenario into `plan`, whose strategy and ranks are known: batches, types, the optimizer,
/// and which kernels the model runs. Throws InputError.
void read_training(io::Node const& training, ModelSpec const& model, Plan& plan);

}  // namespace twinstep::strategies
