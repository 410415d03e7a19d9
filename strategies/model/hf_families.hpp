#pragma once

#include <string>
#include <vector>

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"

/// Readers of config.json, by kinship of the architectures. Only hf_config.cpp uses them.
namespace twinstep::strategies {

/// What the readers of one kinship know: the classes, and the model of a configuration that names one of them.
struct HfFamily {
  std::string_view class_name;  ///< "LlamaForCausalLM"
  std::string_view model_type;  ///< "llama"
  Transformer (*read)(io::Node const& config, std::vector<std::string>& warnings);
  /// Sizes that a configuration of this class has where it gives none, as JSON: transformers leaves them out of the
  /// text model's configuration in a file of several models. Source: transformers' configuration_*.py.
  std::string_view defaults = "{}";
};

/// LLaMA and those that differ from it in numbers and biases: RMS norms, rotary embedding, a gate.
[[nodiscard]] std::vector<HfFamily> llama_families();
/// GPT-2 and its kin: layer norms, no gate.
[[nodiscard]] std::vector<HfFamily> gpt_families();

}  // namespace twinstep::strategies
