#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strategies/mesh/step.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// Layers of each part of a pipeline, in the model's order. Where the plan names none they are shared out as evenly as
/// they get, earlier parts first; what counts as a layer beside them (`Pipeline::counts_embedding`, `counts_head`)
/// takes the place of one. Sources: Megatron-LM, megatron/core/transformer/transformer_block.py,
/// get_num_layers_to_build; torchtitan, distributed/pipeline_parallel.py, generate_llm_fqn_per_model_part.
[[nodiscard]] std::vector<std::int64_t> layers_of_parts(std::int64_t layers, Pipeline const& pipeline);

/// What forbids cutting `model` as the plan's degrees ask, if anything does: heads, widths or layers that do not
/// divide.
[[nodiscard]] std::optional<Infeasible> find_mesh_obstacle(Transformer const& model, Plan const& plan);

/// What forbids the plan's schedule with its number of micro-batches, if anything does. Requires that the batch
/// divides.
[[nodiscard]] std::optional<Infeasible> find_schedule_obstacle(Plan const& plan);

/// The step of a plan with tensor or pipeline degrees. Requires that there is no obstacle.
[[nodiscard]] StepSpec mesh_step(Transformer const& model, Plan const& plan);

}  // namespace twinstep::strategies
