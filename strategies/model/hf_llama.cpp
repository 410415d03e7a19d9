#include <fmt/format.h>

#include "strategies/model/hf_families.hpp"
#include "strategies/model/read_model.hpp"

namespace twinstep::strategies {
namespace {

/// What an architecture of the Llama kind fixes in its code rather than in its configuration.
struct Architecture {
  std::int64_t default_kv_heads = 0;   ///< 0: as many as heads
  std::int64_t default_head_size = 0;  ///< 0: hidden over heads
  std::int64_t default_max_sequence = 2048;
  bool has_attention_bias_key = false;
  bool has_mlp_bias_key = false;
  bool has_qkv_bias = false;
  bool has_query_key_norm = false;
};

// Source: transformers' configuration_*.py and modeling_*.py of each family.
constexpr Architecture kLlamaArchitecture{.has_attention_bias_key = true, .has_mlp_bias_key = true};
constexpr Architecture kMistral{.default_kv_heads = 8, .default_max_sequence = 131072};
constexpr Architecture kQwen2{.default_kv_heads = 32, .default_max_sequence = 32768, .has_qkv_bias = true};
constexpr Architecture kQwen3{.default_kv_heads = 32,
                              .default_head_size = 128,
                              .default_max_sequence = 32768,
                              .has_attention_bias_key = true,
                              .has_query_key_norm = true};

template <Architecture const& kArchitecture>
Transformer read_llama(io::Node const& config, std::vector<std::string>& warnings) {
  auto model = Transformer{};
  model.layers = read_layers(config, "num_hidden_layers");
  read_heads(config,
             {"hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", kArchitecture.default_head_size},
             kArchitecture.default_kv_heads, model);
  model.ffn = read_size(config, "intermediate_size");
  model.vocabulary = read_size(config, "vocab_size");
  model.max_sequence_length = read_size(config, "max_position_embeddings", kArchitecture.default_max_sequence);
  model.tied_embeddings = read_flag(config, "tie_word_embeddings", false);
  model.qkv_bias = kArchitecture.has_qkv_bias;
  model.query_key_norm = kArchitecture.has_query_key_norm;
  if (kArchitecture.has_attention_bias_key)
    model.qkv_bias = model.attention_output_bias = read_flag(config, "attention_bias", false);
  if (kArchitecture.has_mlp_bias_key) model.mlp_bias = read_flag(config, "mlp_bias", false);
  if (auto const dropout = config.find("attention_dropout"); dropout && dropout->number() > 0)
    warnings.push_back(fmt::format("{}: dropout of attention alone is not modelled", dropout->path()));
  return model;
}

}  // namespace

std::vector<HfFamily> llama_families() {
  constexpr std::string_view kOfLlama =
      R"({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 11008,
          "vocab_size": 32000})";
  constexpr std::string_view kOfMistral =
      R"({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 14336,
          "vocab_size": 32000})";
  constexpr std::string_view kOfQwen =
      R"({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 22016,
          "vocab_size": 151936})";
  return {{"LlamaForCausalLM", "llama", read_llama<kLlamaArchitecture>, kOfLlama},
          {"MistralForCausalLM", "mistral", read_llama<kMistral>, kOfMistral},
          {"Qwen2ForCausalLM", "qwen2", read_llama<kQwen2>, kOfQwen},
          {"Qwen3ForCausalLM", "qwen3", read_llama<kQwen3>, kOfQwen}};
}

}  // namespace twinstep::strategies
