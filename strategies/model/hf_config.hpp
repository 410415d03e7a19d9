#pragma once

#include <string>
#include <vector>

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"

namespace twinstep::strategies {

/// A Hugging Face config.json as a model. Reads LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM,
/// Qwen3ForCausalLM, GPT2LMHeadModel, GPTNeoXForCausalLM, OPTForCausalLM and MPTForCausalLM (llm-foundry's); the
/// defaults of absent keys are those of transformers' configuration classes.
///
/// Keys that do not change the cost of a step are ignored. Keys that do and are not modelled are reported: an error
/// where the parameters would be wrong (experts, cross-attention, norms in other places), otherwise a sentence in
/// `warnings` (a sliding window, quantised weights). Throws InputError for those, for an unknown architecture and for
/// impossible sizes.
[[nodiscard]] Transformer read_hf_config(io::Node const& config, std::vector<std::string>& warnings);

}  // namespace twinstep::strategies
