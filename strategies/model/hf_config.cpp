#include "strategies/model/hf_config.hpp"

#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "strategies/model/read_model.hpp"

namespace twinstep::strategies {
namespace {

/// What an architecture of the Llama kind fixes in its code rather than in its configuration.
struct Architecture {
  std::string_view name;
  std::string_view model_type;
  std::int64_t default_kv_heads = 0;  ///< 0: as many as heads
  bool has_bias_keys = false;         ///< attention_bias and mlp_bias are read
  bool has_qkv_bias = false;
  std::int64_t default_max_sequence = 2048;
};

// Source: transformers' configuration_*.py and modeling_*.py of each family.
constexpr std::array kLlamaLike{
    Architecture{"LlamaForCausalLM", "llama", 0, true, false, 2048},
    Architecture{"MistralForCausalLM", "mistral", 8, false, false, 131072},
    Architecture{"Qwen2ForCausalLM", "qwen2", 32, false, true, 32768},
};
constexpr Architecture kGpt2{"GPT2LMHeadModel", "gpt2"};

void warn_of_what_is_not_modelled(io::Node const& config, Transformer const& model,
                                  std::vector<std::string>& warnings) {
  auto const window = config.find("sliding_window");
  if (window && read_flag(config, "use_sliding_window", true) && window->integer() < model.max_sequence_length) {
    warnings.push_back(fmt::format("{}: attention is costed over the whole sequence, not a window of {}",
                                   window->path(), window->integer()));
  }
  if (auto const quantization = config.find("quantization_config")) {
    warnings.push_back(
        fmt::format("{}: quantised weights are not modelled; the training precision is used", quantization->path()));
  }
}

void refuse_experts(io::Node const& config) {
  for (auto const* key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    auto const experts = config.find(key);
    if (experts && experts->integer() > 1) {
      experts->fail(fmt::format("{} experts", experts->integer()), "only dense models are read");
    }
  }
}

Transformer read_llama(io::Node const& config, Architecture const& architecture) {
  auto model = Transformer{};
  model.name = architecture.model_type;
  model.layers = read_layers(config, "num_hidden_layers");
  read_heads(config, {"hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim"},
             architecture.default_kv_heads, model);
  model.ffn = read_size(config, "intermediate_size");
  model.vocabulary = read_size(config, "vocab_size");
  model.max_sequence_length = read_size(config, "max_position_embeddings", architecture.default_max_sequence);
  model.tied_embeddings = read_flag(config, "tie_word_embeddings", false);
  model.qkv_bias = architecture.has_qkv_bias;
  if (architecture.has_bias_keys) {
    model.qkv_bias = model.attention_output_bias = read_flag(config, "attention_bias", false);
    model.mlp_bias = read_flag(config, "mlp_bias", false);
  }
  return model;
}

Transformer read_gpt2(io::Node const& config) {
  if (read_flag(config, "add_cross_attention", false)) {
    config.at("add_cross_attention").fail("cross-attention", "only decoder-only models are read");
  }
  auto model = Transformer{};
  model.name = kGpt2.model_type;
  model.layers = read_layers(config, "n_layer");
  read_heads(config, {"n_embd", "n_head", {}, {}}, 0, model);
  model.ffn = read_size(config, "n_inner", 4 * model.hidden);
  model.vocabulary = read_size(config, "vocab_size");
  model.positions = read_size(config, "n_positions");
  model.max_sequence_length = model.positions;
  model.norm = Norm::kLayer;
  model.gated_mlp = false;
  model.fused_qkv = true;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  model.tied_embeddings = read_flag(config, "tie_word_embeddings", true);
  for (auto const* key : {"embd_pdrop", "resid_pdrop", "attn_pdrop"}) {
    auto const probability = config.find(key);
    model.dropout = model.dropout || !probability || probability->number() > 0;
  }
  return model;
}

/// The class or, failing that, the type that the configuration names, and where.
io::Node architecture_node(io::Node const& config) {
  if (auto const classes = config.find("architectures")) {
    auto const elements = classes->elements();
    if (!elements.empty()) return elements.front();
  }
  if (auto const type = config.find("model_type")) return *type;
  config.fail("a model without architectures and model_type", R"(give "architectures": ["LlamaForCausalLM"])");
}

Transformer read_known(io::Node const& config) {
  auto const node = architecture_node(config);
  auto const name = node.string();
  auto const is = [&](Architecture const& known) { return name == known.name || name == known.model_type; };
  for (auto const& architecture : kLlamaLike) {
    if (is(architecture)) return read_llama(config, architecture);
  }
  if (is(kGpt2)) return read_gpt2(config);
  auto known = std::string{kGpt2.name};
  for (auto const& architecture : kLlamaLike) known.append(", ").append(architecture.name);
  node.fail(fmt::format("architecture {}", quoted(name)), fmt::format("known: {}", known));
}

}  // namespace

Transformer read_hf_config(io::Node const& config, std::vector<std::string>& warnings) {
  refuse_experts(config);
  auto const model = read_known(config);
  check_parameter_count(config, model);
  warn_of_what_is_not_modelled(config, model, warnings);
  return model;
}

}  // namespace twinstep::strategies
