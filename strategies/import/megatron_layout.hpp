#pragma once

#include <cstdint>
#include <vector>

#include "sim/io/document.hpp"

namespace twinstep::strategies {

/// Layers of each part of a pipeline, in the model's order, from Megatron-LM's --pipeline-model-parallel-layout: "|"
/// between parts, E the embedding, t a layer, L the loss, "t*3" and "(tt|)*3" repeated. Throws InputError for what is
/// no layout, for an embedding that is not in the first part or a loss that is not in the last one, and for
/// multi-token prediction. Source: megatron/core/transformer/pipeline_parallel_layer_layout.py (parse_str_to_list).
[[nodiscard]] std::vector<std::int64_t> layers_of_layout(io::Node const& layout);

}  // namespace twinstep::strategies
