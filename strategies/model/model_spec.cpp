#include "strategies/model/model_spec.hpp"

#include <numeric>

#include "strategies/model/cnn_layout.hpp"

namespace twinstep::strategies {
namespace {

void add_norm(std::vector<Tensor>& out, std::string const& name, Transformer const& model) {
  out.push_back({name + ".weight", model.hidden});
  if (model.norm == Norm::kLayer) out.push_back({name + ".bias", model.hidden});
}

void add_linear(std::vector<Tensor>& out, std::string const& name, std::int64_t rows, std::int64_t columns, bool bias) {
  out.push_back({name + ".weight", rows, columns});
  if (bias) out.push_back({name + ".bias", rows});
}

/// As transformers' LlamaDecoderLayer registers them: attention, MLP, then both norms.
std::vector<Tensor> separate_qkv_block(Transformer const& model) {
  auto out = std::vector<Tensor>{};
  add_linear(out, "self_attn.q_proj", model.query_width(), model.hidden, model.qkv_bias);
  add_linear(out, "self_attn.k_proj", model.kv_width(), model.hidden, model.qkv_bias);
  add_linear(out, "self_attn.v_proj", model.kv_width(), model.hidden, model.qkv_bias);
  add_linear(out, "self_attn.o_proj", model.hidden, model.query_width(), model.attention_output_bias);
  if (model.gated_mlp) add_linear(out, "mlp.gate_proj", model.ffn, model.hidden, model.mlp_bias);
  add_linear(out, "mlp.up_proj", model.ffn, model.hidden, model.mlp_bias);
  add_linear(out, "mlp.down_proj", model.hidden, model.ffn, model.mlp_bias);
  add_norm(out, "input_layernorm", model);
  add_norm(out, "post_attention_layernorm", model);
  return out;
}

/// As transformers' GPT2Block registers them: each norm before what it feeds.
std::vector<Tensor> fused_qkv_block(Transformer const& model) {
  auto out = std::vector<Tensor>{};
  add_norm(out, "ln_1", model);
  add_linear(out, "attn.c_attn", model.query_width() + 2 * model.kv_width(), model.hidden, model.qkv_bias);
  add_linear(out, "attn.c_proj", model.hidden, model.query_width(), model.attention_output_bias);
  add_norm(out, "ln_2", model);
  if (model.gated_mlp) add_linear(out, "mlp.c_gate", model.ffn, model.hidden, model.mlp_bias);
  add_linear(out, "mlp.c_fc", model.ffn, model.hidden, model.mlp_bias);
  add_linear(out, "mlp.c_proj", model.hidden, model.ffn, model.mlp_bias);
  return out;
}

std::vector<UnitParameters> parameters_of_each(Transformer const& model) {
  auto embedding = UnitParameters{"embedding", 1, {}};
  auto const is_gpt2 = model.fused_qkv;
  embedding.tensors.push_back({is_gpt2 ? "wte.weight" : "embed_tokens.weight", model.vocabulary, model.hidden});
  if (model.positions > 0) embedding.tensors.push_back({"wpe.weight", model.positions, model.hidden});
  auto head = UnitParameters{"head", 1, {}};
  add_norm(head.tensors, is_gpt2 ? "ln_f" : "norm", model);
  if (!model.tied_embeddings) add_linear(head.tensors, "lm_head", model.vocabulary, model.hidden, false);
  return {embedding, {"layer", model.layers, is_gpt2 ? fused_qkv_block(model) : separate_qkv_block(model)}, head};
}

std::vector<UnitParameters> parameters_of_each(Mlp const& model) {
  auto out = std::vector<UnitParameters>{};
  for (std::size_t i = 1; i < model.widths.size(); ++i) {
    auto layer = UnitParameters{"layer", 1, {{"weight", model.widths[i], model.widths[i - 1]}}};
    if (!out.empty() && out.back().tensors == layer.tensors) {
      ++out.back().count;
    } else {
      out.push_back(std::move(layer));
    }
  }
  return out;
}

void add_convolution(std::vector<Tensor>& out, Convolution const& convolution) {
  out.push_back({convolution.name + ".weight", convolution.out, convolution.window()});
  out.push_back({convolution.norm + ".weight", convolution.out});
  out.push_back({convolution.norm + ".bias", convolution.out});
}

std::vector<UnitParameters> parameters_of_each(Cnn const& model) {
  auto out = std::vector<UnitParameters>{};
  for (auto const& blocks : blocks_of(model)) {
    auto unit = UnitParameters{blocks.name, blocks.count, {}};
    for (auto const& convolution : blocks.path) add_convolution(unit.tensors, convolution);
    if (blocks.projection) add_convolution(unit.tensors, *blocks.projection);
    out.push_back(std::move(unit));
  }
  auto head = UnitParameters{"head", 1, {}};
  add_linear(head.tensors, "fc", model.classes, features(model), true);
  out.push_back(std::move(head));
  return out;
}

}  // namespace

std::string_view model_name(ModelSpec const& model) {
  return std::visit([](auto const& m) -> std::string_view { return m.name; }, model);
}

std::int64_t UnitParameters::elements() const {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                         [](std::int64_t sum, Tensor const& tensor) { return sum + tensor.elements(); });
}

std::vector<UnitParameters> parameters_of(ModelSpec const& model) {
  return std::visit([](auto const& m) { return parameters_of_each(m); }, model);
}

std::int64_t buffer_elements(ModelSpec const& model) {
  auto const* cnn = std::get_if<Cnn>(&model);
  auto count = std::int64_t{0};
  if (cnn == nullptr) return count;
  for (auto const& blocks : blocks_of(*cnn)) {
    for (auto const& convolution : blocks.path) count += blocks.count * (2 * convolution.out + 1);
    if (blocks.projection) count += blocks.count * (2 * blocks.projection->out + 1);
  }
  return count;
}

std::int64_t parameter_count(ModelSpec const& model) {
  auto count = std::int64_t{0};
  for (auto const& unit : parameters_of(model)) count += unit.count * unit.elements();
  return count;
}

}  // namespace twinstep::strategies
