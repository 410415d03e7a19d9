#pragma once

#include <cstdint>

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// The "training" and "strategy" of a scenario, as explore/ask/schema/scenario.schema.json describes them:
///
///     "training": {"sequence_length": 4096, "micro_batch": 1, "global_batch": 512, "precision": "bf16",
///                  "optimizer": "adamw-fused"},
///     "strategy": {"name": "zero-2", "recompute": "full", "ranks": 32, "bucket": "1 GB"}
///
/// `gpus` is what the cluster has: the number of ranks if the strategy names none. Throws InputError; a plan that
/// merely does not divide passes (see `find_obstacle`).
[[nodiscard]] Plan read_plan(io::Node const& training, io::Node const& strategy, ModelSpec const& model,
                             std::int64_t gpus);

}  // namespace twinstep::strategies
