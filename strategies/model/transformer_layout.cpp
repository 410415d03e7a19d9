#include "strategies/model/transformer_layout.hpp"

#include "sim/base/check.hpp"

namespace twinstep::strategies {
namespace {

/// A module of a block that holds parameters.
enum class Part : std::uint8_t {
  kFirstNorm,
  kSecondNorm,
  kQkv,
  kQuery,
  kKey,
  kValue,
  kQueryNorm,
  kKeyNorm,
  kAttentionOutput,
  kGate,
  kUp,
  kDown
};

Modules lineage(Transformer const& model) {
  return model.modules.value_or(model.fused_qkv ? Modules::kGpt2 : Modules::kLlama);
}

/// A block's parts in the order of their registration. Absent ones are passed over.
std::vector<Part> registration_order(Modules modules) {
  using enum Part;
  switch (modules) {
    case Modules::kLlama:
      return {kQuery, kKey, kValue, kAttentionOutput, kQueryNorm, kKeyNorm, kGate, kUp, kDown, kFirstNorm, kSecondNorm};
    case Modules::kGpt2:
    case Modules::kMpt: return {kFirstNorm, kQkv, kAttentionOutput, kSecondNorm, kGate, kUp, kDown};
    case Modules::kGptNeoX: return {kFirstNorm, kSecondNorm, kQkv, kAttentionOutput, kUp, kDown};
    case Modules::kOpt: return {kKey, kValue, kQuery, kAttentionOutput, kFirstNorm, kUp, kDown, kSecondNorm};
  }
  TWINSTEP_UNREACHABLE("every lineage registers its modules in some order");
}

void add_norm(std::vector<Tensor>& out, std::string const& name, std::int64_t width, bool bias) {
  out.push_back({name + ".weight", width});
  if (bias) out.push_back({name + ".bias", width});
}

void add_linear(std::vector<Tensor>& out, std::string const& name, std::int64_t rows, std::int64_t columns, bool bias) {
  out.push_back({name + ".weight", rows, columns});
  if (bias) out.push_back({name + ".bias", rows});
}

bool has_norm_bias(Transformer const& model) {
  return model.norm == Norm::kLayer && model.norm_bias;
}

void add_projection(std::vector<Tensor>& out, std::string const& name, std::int64_t width, Transformer const& model) {
  add_linear(out, name, width, model.hidden, model.qkv_bias);
}

void add_part(std::vector<Tensor>& out, Part part, TransformerModules const& names, Transformer const& model) {
  auto const& m = model;
  switch (part) {
    case Part::kFirstNorm: return add_norm(out, names.first_norm, m.hidden, has_norm_bias(m));
    case Part::kSecondNorm: return add_norm(out, names.second_norm, m.hidden, has_norm_bias(m));
    case Part::kQkv: return add_projection(out, names.qkv, m.query_width() + 2 * m.kv_width(), m);
    case Part::kQuery: return add_projection(out, names.query, m.query_width(), m);
    case Part::kKey: return add_projection(out, names.key, m.kv_width(), m);
    case Part::kValue: return add_projection(out, names.value, m.kv_width(), m);
    case Part::kQueryNorm:
      if (m.query_key_norm) add_norm(out, names.query_norm, m.head_size, false);
      return;
    case Part::kKeyNorm:
      if (m.query_key_norm) add_norm(out, names.key_norm, m.head_size, false);
      return;
    case Part::kAttentionOutput:
      return add_linear(out, names.attention_output, m.hidden, m.query_width(), m.attention_output_bias);
    case Part::kGate:
      if (m.gated_mlp) add_linear(out, names.gate, m.ffn, m.hidden, m.mlp_bias);
      return;
    case Part::kUp: return add_linear(out, names.up, m.ffn, m.hidden, m.mlp_bias);
    case Part::kDown: return add_linear(out, names.down, m.hidden, m.ffn, m.mlp_bias);
  }
}

}  // namespace

TransformerModules modules_of(Transformer const& model) {
  switch (lineage(model)) {
    case Modules::kLlama:
      return {.token_embedding = "embed_tokens",
              .position_embedding = "wpe",
              .first_norm = "input_layernorm",
              .second_norm = "post_attention_layernorm",
              .query = "self_attn.q_proj",
              .key = "self_attn.k_proj",
              .value = "self_attn.v_proj",
              .query_norm = "self_attn.q_norm",
              .key_norm = "self_attn.k_norm",
              .attention_output = "self_attn.o_proj",
              .gate = "mlp.gate_proj",
              .up = "mlp.up_proj",
              .down = "mlp.down_proj",
              .final_norm = "norm",
              .output = "lm_head"};
    case Modules::kGpt2:
      return {.token_embedding = "wte",
              .position_embedding = "wpe",
              .first_norm = "ln_1",
              .second_norm = "ln_2",
              .qkv = "attn.c_attn",
              .attention_output = "attn.c_proj",
              .gate = "mlp.c_gate",
              .up = "mlp.c_fc",
              .down = "mlp.c_proj",
              .final_norm = "ln_f",
              .output = "lm_head"};
    case Modules::kGptNeoX:
      return {.token_embedding = "embed_in",
              .first_norm = "input_layernorm",
              .second_norm = "post_attention_layernorm",
              .qkv = "attention.query_key_value",
              .attention_output = "attention.dense",
              .up = "mlp.dense_h_to_4h",
              .down = "mlp.dense_4h_to_h",
              .final_norm = "final_layer_norm",
              .output = "embed_out"};
    case Modules::kOpt:
      return {.token_embedding = "embed_tokens",
              .position_embedding = "embed_positions",
              .first_norm = "self_attn_layer_norm",
              .second_norm = "final_layer_norm",
              .query = "self_attn.q_proj",
              .key = "self_attn.k_proj",
              .value = "self_attn.v_proj",
              .attention_output = "self_attn.out_proj",
              .up = "fc1",
              .down = "fc2",
              .final_norm = "final_layer_norm",
              .output = "lm_head"};
    case Modules::kMpt:
      return {.token_embedding = "wte",
              .position_embedding = "wpe",
              .first_norm = "norm_1",
              .second_norm = "norm_2",
              .qkv = "attn.Wqkv",
              .attention_output = "attn.out_proj",
              .up = "ffn.up_proj",
              .down = "ffn.down_proj",
              .final_norm = "norm_f",
              .output = "lm_head"};
  }
  TWINSTEP_UNREACHABLE("every lineage has its names");
}

std::vector<Tensor> block_tensors(Transformer const& model) {
  auto out = std::vector<Tensor>{};
  auto const names = modules_of(model);
  for (auto const part : registration_order(lineage(model))) add_part(out, part, names, model);
  return out;
}

std::vector<Tensor> embedding_tensors(Transformer const& model) {
  auto const names = modules_of(model);
  auto out = std::vector<Tensor>{{names.token_embedding + ".weight", model.vocabulary, model.hidden}};
  if (model.positions > 0) out.push_back({names.position_embedding + ".weight", model.positions, model.hidden});
  return out;
}

std::vector<Tensor> head_tensors(Transformer const& model) {
  auto const names = modules_of(model);
  auto out = std::vector<Tensor>{};
  add_norm(out, names.final_norm, model.hidden, has_norm_bias(model));
  if (!model.tied_embeddings) add_linear(out, names.output, model.vocabulary, model.hidden, false);
  return out;
}

}  // namespace twinstep::strategies
