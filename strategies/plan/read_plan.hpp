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

// The parts of `read_plan`, each in a file of its own, for who makes a plan otherwise too. All throw InputError.

/// Reads what single frameworks let their users choose, each key under the framework's own name, into `plan`, whose
/// strategy and ranks are known. `model` gives "auto" its value, as Hugging Face resolves it. A key of another
/// framework is refused with the strategies that have it, an unknown one with the nearest known.
void read_options(io::Node const& strategy, ModelSpec const& model, Plan& plan);

/// Reads the "parallel" of a strategy into `plan`, whose strategy is known: how `ranks` divide the work of the model,
/// and how many of them are left to be data-parallel. {"tensor": 8, "sequence": true, "pipeline": 4, "chunks": 2}.
void read_parallel(io::Node const& parallel, ModelSpec const& model, std::int64_t ranks, Plan& plan);

/// Reads "recompute" into `plan`. A word says what blocks keep ("none", "full", "selective", "per-op"); "sqrt" takes
/// about as many segments as each has blocks (Chen et al., arXiv 1604.06174), √layers rounded; an object says which
/// blocks: {"what": "full", "every": 2}, {"segment": 4}, {"first": 8}. Refuses none, more blocks than the model has,
/// and what cannot go together.
void read_recompute(io::Node const& recompute, ModelSpec const& model, Plan& plan);

/// Reads the "training" of a scenario into `plan`, whose strategy and ranks are known: batches, types, the optimizer,
/// and which kernels the model runs.
void read_training(io::Node const& training, ModelSpec const& model, Plan& plan);

/// Refuses choices of a plan that contradict each other, at the place of one of them; and steps beyond what counters
/// hold and what can be simulated.
void check_plan(io::Node const& training, io::Node const& strategy, ModelSpec const& model, Plan const& plan);

/// Whether its step is not too long for that: seconds and gigabytes.
[[nodiscard]] bool can_be_simulated(ModelSpec const& model, Plan const& plan);

/// Repeated layers: the blocks that recomputation counts.
[[nodiscard]] std::int64_t layers_of(ModelSpec const& model);

}  // namespace twinstep::strategies
