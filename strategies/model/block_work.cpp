#include <utility>

#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {
namespace {

using program::Gemm;
using enum SlotKind;

/// Names of a block's parameters; they follow the model's registration.
struct BlockTensors {
  std::string first_norm, second_norm, attention_output, gate, up, down;
};

BlockTensors tensors_of(Transformer const& model) {
  if (model.fused_qkv) return {"ln_1", "ln_2", "attn.c_proj", "mlp.c_gate", "mlp.c_fc", "mlp.c_proj"};
  return {"input_layernorm", "post_attention_layernorm", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj",
          "mlp.down_proj"};
}

/// One of the projections that feed attention: queries, keys, values, or all three at once.
struct Projection {
  std::string name;
  std::string tensor;
  std::int64_t width = 0;
  bool is_rotated = false;
  std::int32_t projected = -1;  ///< what the GEMM writes
  std::int32_t attended = -1;   ///< what attention reads
};

/// Writes the kernels of
///     middle = input + attention(norm(input)),  output = middle + mlp(norm(middle)).
///
/// Passes over memory, each over the kernel's own width: norms 2 forward and 5 backward, residual adds 3 and 3, GELU 2
/// and 3, gate 5 and 8, rotary 6 and 6, joining the gradients of a fused projection 2. Source: the operands of eager
/// PyTorch's kernels, counted. In 16 bits a GPT block without dropout and biases moves 36 h bytes a token forward and
/// 68 h backward; with one factor for the software stack that fits open training records.
/// Kept tensors follow autograd's rules (Korthikanti et al., arXiv 2205.05198, section 4.1).
class BlockWriter {
 public:
  BlockWriter(Transformer const& model, std::vector<Tensor> parameters, Shape const& shape)
      : model_{model}, tensors_{tensors_of(model)}, w_{"layer", std::move(parameters), shape} {
    hidden_ = w_.tokens() * model.hidden;
    ffn_ = w_.tokens() * model.ffn;
    input_ = w_.slot("input", kInput, hidden_);
  }

  UnitWork write() && {
    attention_forward();
    mlp_forward();
    output_gradient_ = w_.slot("output_gradient", kOutputGradient, hidden_);
    middle_gradient_ = w_.slot("middle_gradient", kTemporary, hidden_);
    input_gradient_ = w_.slot("input_gradient", kInputGradient, hidden_);
    mlp_backward();
    attention_backward();
    return std::move(w_).finish();
  }

 private:
  // The first half.
  void attention_forward();
  void project();
  void flash_forward();
  void unfused_forward();
  void attention_backward();
  void flash_backward(std::int32_t gradient);
  void unfused_backward(std::int32_t gradient);
  void project_backward();
  // The second half.
  void mlp_forward();
  void mlp_backward();
  // Both.
  std::int32_t residual(std::string const& name, std::int32_t branch, std::int32_t skip, std::int32_t sum);
  std::int32_t branch_gradient(std::string const& name, std::int32_t gradient, std::int32_t mask);
  void add_to_gradient(std::string const& name, std::int32_t sum, std::int32_t part);

  [[nodiscard]] program::Attention attention(bool backward) const;
  [[nodiscard]] Gemm score_gemm(std::int64_t n, std::int64_t k) const;
  std::int32_t temporary(std::string_view name, std::int64_t elements) { return w_.slot(name, kTemporary, elements); }

  Transformer const& model_;
  BlockTensors tensors_;
  UnitWriter w_;
  std::int64_t hidden_ = 0;  ///< elements of [tokens, hidden]
  std::int64_t ffn_ = 0;
  std::vector<Projection> projections_;
  std::int32_t input_ = -1, middle_ = -1;
  std::int32_t output_gradient_ = -1, middle_gradient_ = -1, input_gradient_ = -1;
  std::int32_t first_normed_ = -1, second_normed_ = -1;
  SavedNorm first_saved_, second_saved_;
  std::int32_t context_ = -1, log_sum_exp_ = -1, attention_mask_ = -1, mlp_mask_ = -1;
  // Unfused attention only: each head's rows in one piece, and the score matrix.
  std::int32_t query_ = -1, key_ = -1, value_ = -1;
  std::int32_t probabilities_ = -1, score_mask_ = -1, dropped_ = -1;
  std::int32_t query_gradient_ = -1, key_gradient_ = -1, value_gradient_ = -1;
  std::int32_t gate_ = -1, up_ = -1, activated_gate_ = -1, activated_ = -1;
};

void BlockWriter::attention_forward() {
  first_normed_ = w_.slot("attention.norm", kSaved, hidden_);
  first_saved_ = w_.norm("attention.norm", tensors_.first_norm, model_.norm, input_, {first_normed_});
  project();
  context_ = w_.slot("attention.context", kSaved, w_.tokens() * model_.query_width());
  if (w_.shape().flash_attention) {
    flash_forward();
  } else {
    unfused_forward();
  }
  auto const out = temporary("attention.output", hidden_);
  w_.linear("attention.output", tensors_.attention_output, context_, out);
  middle_ = w_.slot("middle", kSaved, hidden_);
  attention_mask_ = residual("attention", out, input_, middle_);
}

void BlockWriter::project() {
  auto const rotary = model_.has_rotary_embedding();
  if (model_.fused_qkv) {
    projections_ = {{"attention.qkv", "attn.c_attn", model_.query_width() + 2 * model_.kv_width(), rotary}};
  } else {
    projections_ = {{"attention.query", "self_attn.q_proj", model_.query_width(), rotary},
                    {"attention.key", "self_attn.k_proj", model_.kv_width(), rotary},
                    {"attention.value", "self_attn.v_proj", model_.kv_width(), false}};
  }
  auto sources = UnitWriter::Accesses{};
  auto results = UnitWriter::Accesses{};
  for (auto& p : projections_) {
    p.attended = w_.slot(p.name, w_.shape().flash_attention ? kSaved : kTemporary, w_.tokens() * p.width);
    p.projected = p.is_rotated ? temporary(p.name + ".unrotated", w_.tokens() * p.width) : p.attended;
    w_.linear(p.name, p.tensor, first_normed_, p.projected);
    if (!p.is_rotated) continue;
    sources.push_back(reads(p.projected));
    results.push_back(writes(p.attended));
  }
  if (!rotary) return;
  sources.insert(sources.end(), results.begin(), results.end());
  auto const rotated = w_.tokens() * (model_.query_width() + model_.kv_width());
  w_.forward("attention.rotary.forward", w_.memory_bound(rotated, 6), std::move(sources), 6);
}

program::Attention BlockWriter::attention(bool backward) const {
  auto const& shape = w_.shape();
  return {
      shape.micro_batch,  model_.heads, model_.kv_heads, shape.sequence_length, shape.sequence_length, model_.head_size,
      shape.compute_type, true,         backward};
}

void BlockWriter::flash_forward() {
  log_sum_exp_ = w_.slot({"attention.log_sum_exp", kSaved, w_.tokens() * model_.heads, DataType::kFp32});
  auto accesses = UnitWriter::Accesses{};
  for (auto const& p : projections_) accesses.push_back(reads(p.attended));
  accesses.push_back(writes(context_));
  accesses.push_back(writes(log_sum_exp_));
  w_.forward("attention.core.forward", attention(false), std::move(accesses));
}

void BlockWriter::flash_backward(std::int32_t gradient) {
  auto accesses = UnitWriter::Accesses{};
  for (auto const& p : projections_) accesses.push_back(reads(p.attended));
  for (auto const slot : {context_, log_sum_exp_, gradient}) accesses.push_back(reads(slot));
  for (auto const slot : {query_gradient_, key_gradient_, value_gradient_}) accesses.push_back(writes(slot));
  w_.backward("attention.core.backward", attention(true), std::move(accesses));
}

/// A batched GEMM over all heads with s rows.
Gemm BlockWriter::score_gemm(std::int64_t n, std::int64_t k) const {
  auto const& shape = w_.shape();
  return {shape.sequence_length, n, k, shape.micro_batch * model_.heads, shape.compute_type};
}

// Attention as PyTorch writes it out: the whole s × s matrix, causal or not. Each head's queries, keys and values are
// first copied into one piece, grouped keys and values once for every head (transformers' repeat_kv, torch.matmul).
// Kept for each score in 16 bits: the probabilities (2 bytes) and, with dropout, its mask (1) and result (2).
void BlockWriter::unfused_forward() {
  auto const length = w_.shape().sequence_length;
  auto const count = w_.tokens() * model_.heads * length;
  auto const size = w_.tokens() * model_.query_width();
  query_ = w_.slot("attention.query_heads", kSaved, size);
  key_ = w_.slot("attention.key_heads", kSaved, size);
  value_ = w_.slot("attention.value_heads", kSaved, size);
  auto accesses = UnitWriter::Accesses{};
  for (auto const& p : projections_) accesses.push_back(reads(p.attended));
  for (auto const slot : {query_, key_, value_}) accesses.push_back(writes(slot));
  auto const sources = size + 2 * w_.tokens() * model_.kv_width();
  w_.forward("attention.heads.forward", w_.memory_bound(sources + 3 * size, 1), std::move(accesses), 3);

  auto const scores = temporary("attention.scores", count);
  auto query_key = score_gemm(length, model_.head_size);
  query_key.transpose_b = true;
  w_.forward("attention.scores.forward", query_key, {reads(query_), reads(key_), writes(scores)});
  probabilities_ = w_.slot("attention.probabilities", kSaved, count);
  w_.forward("attention.softmax.forward", w_.memory_bound(count, 2), {reads(scores), writes(probabilities_)});
  dropped_ = probabilities_;
  if (model_.dropout) {
    dropped_ = w_.slot("attention.dropped_probabilities", kSaved, count);
    score_mask_ = w_.slot({"attention.score_mask", kSaved, count, DataType::kInt8});
    w_.forward("attention.dropout.forward", w_.memory_bound(count, 2, 1),
               {reads(probabilities_), writes(dropped_), writes(score_mask_)});
  }
  w_.forward("attention.context.forward", score_gemm(model_.head_size, length),
             {reads(dropped_), reads(value_), writes(context_)});
}

void BlockWriter::unfused_backward(std::int32_t gradient) {
  auto const length = w_.shape().sequence_length;
  auto const count = w_.elements(probabilities_);
  auto const is_grouped = model_.kv_heads < model_.heads;
  auto const size = w_.elements(query_);
  auto const key_gradient = is_grouped ? temporary("attention.key_heads_gradient", size) : key_gradient_;
  auto const value_gradient = is_grouped ? temporary("attention.value_heads_gradient", size) : value_gradient_;
  auto by_value = score_gemm(length, model_.head_size);
  by_value.transpose_b = true;
  auto by_rows = score_gemm(model_.head_size, length);
  by_rows.transpose_a = true;
  auto const probability_gradient = temporary("attention.probability_gradient", count);
  w_.backward("attention.context.data_gradient", by_value,
              {reads(gradient), reads(value_), writes(probability_gradient)});
  w_.backward("attention.context.value_gradient", by_rows, {reads(dropped_), reads(gradient), writes(value_gradient)});
  if (model_.dropout) {
    w_.backward("attention.dropout.backward", w_.memory_bound(count, 2, 1),
                {updates(probability_gradient), reads(score_mask_)});
  }
  auto const score_gradient = temporary("attention.score_gradient", count);
  w_.backward("attention.softmax.backward", w_.memory_bound(count, 3),
              {reads(probabilities_), reads(probability_gradient), writes(score_gradient)});
  w_.backward("attention.scores.query_gradient", score_gemm(model_.head_size, length),
              {reads(score_gradient), reads(key_), writes(query_gradient_)});
  w_.backward("attention.scores.key_gradient", by_rows, {reads(score_gradient), reads(query_), writes(key_gradient)});
  if (!is_grouped) return;
  w_.backward("attention.heads.backward", w_.memory_bound(2 * (size + w_.elements(key_gradient_)), 1),
              {reads(key_gradient), reads(value_gradient), writes(key_gradient_), writes(value_gradient_)}, 2);
}

void BlockWriter::attention_backward() {
  auto const branch = branch_gradient("attention", middle_gradient_, attention_mask_);
  auto const context_gradient = temporary("attention.context_gradient", w_.elements(context_));
  w_.linear_backward("attention.output", tensors_.attention_output, context_, branch, context_gradient);
  query_gradient_ = temporary("attention.query_gradient", w_.tokens() * model_.query_width());
  key_gradient_ = temporary("attention.key_gradient", w_.tokens() * model_.kv_width());
  value_gradient_ = temporary("attention.value_gradient", w_.tokens() * model_.kv_width());
  if (w_.shape().flash_attention) {
    flash_backward(context_gradient);
  } else {
    unfused_backward(context_gradient);
  }
  project_backward();
}

void BlockWriter::project_backward() {
  if (model_.has_rotary_embedding()) {
    auto const rotated = w_.elements(query_gradient_) + w_.elements(key_gradient_);
    w_.backward("attention.rotary.backward", w_.memory_bound(rotated, 6),
                {updates(query_gradient_), updates(key_gradient_)}, 6);
  }
  auto gradients = std::vector{query_gradient_, key_gradient_, value_gradient_};
  if (model_.fused_qkv) {
    auto const joined = temporary("attention.qkv_gradient", w_.tokens() * projections_.front().width);
    w_.backward("attention.qkv.concatenate", w_.memory_bound(w_.elements(joined), 2),
                {reads(query_gradient_), reads(key_gradient_), reads(value_gradient_), writes(joined)});
    gradients = {joined};
  }
  auto const normed_gradient = temporary("attention.norm_gradient", hidden_);
  for (std::size_t i = 0; i < projections_.size(); ++i) {
    auto const& p = projections_[i];
    auto const part = i == 0 ? normed_gradient : temporary(p.name + ".input_gradient", hidden_);
    w_.linear_backward(p.name, p.tensor, first_normed_, gradients[i], part);
    if (i > 0) add_to_gradient(p.name, normed_gradient, part);
  }
  auto const branch = temporary("attention.input_gradient", hidden_);
  w_.norm_backward("attention.norm", tensors_.first_norm, first_saved_, {normed_gradient}, branch);
  w_.backward("attention.residual.backward", w_.memory_bound(hidden_, 3),
              {reads(middle_gradient_), reads(branch), writes(input_gradient_)});
}

void BlockWriter::mlp_forward() {
  second_normed_ = w_.slot("mlp.norm", kSaved, hidden_);
  second_saved_ = w_.norm("mlp.norm", tensors_.second_norm, model_.norm, middle_, {second_normed_});
  if (model_.gated_mlp) {
    gate_ = w_.slot("mlp.gate", kSaved, ffn_);
    w_.linear("mlp.gate", tensors_.gate, second_normed_, gate_);
  }
  up_ = w_.slot("mlp.up", kSaved, ffn_);
  w_.linear("mlp.up", tensors_.up, second_normed_, up_);
  if (model_.gated_mlp) {
    activated_gate_ = w_.slot("mlp.silu", kSaved, ffn_);
    activated_ = w_.slot("mlp.product", kSaved, ffn_);
    w_.forward("mlp.activation.forward", w_.memory_bound(ffn_, 5),
               {reads(gate_), reads(up_), writes(activated_gate_), writes(activated_)}, 2);
  } else {
    activated_ = w_.slot("mlp.gelu", kSaved, ffn_);
    w_.forward("mlp.activation.forward", w_.memory_bound(ffn_, 2), {reads(up_), writes(activated_)});
  }
  auto const out = temporary("mlp.down", hidden_);
  w_.linear("mlp.down", tensors_.down, activated_, out);
  mlp_mask_ = residual("mlp", out, middle_, w_.slot("output", kOutput, hidden_));
}

void BlockWriter::mlp_backward() {
  auto const branch = branch_gradient("mlp", output_gradient_, mlp_mask_);
  auto const activated_gradient = temporary("mlp.activated_gradient", ffn_);
  w_.linear_backward("mlp.down", tensors_.down, activated_, branch, activated_gradient);
  auto const up_gradient = temporary("mlp.up_gradient", ffn_);
  auto const normed_gradient = temporary("mlp.norm_gradient", hidden_);
  if (model_.gated_mlp) {
    auto const gate_gradient = temporary("mlp.gate_gradient", ffn_);
    w_.backward("mlp.activation.backward", w_.memory_bound(ffn_, 8),
                {reads(activated_gradient), reads(gate_), reads(up_), reads(activated_gate_), writes(gate_gradient),
                 writes(up_gradient)},
                3);
    w_.linear_backward("mlp.up", tensors_.up, second_normed_, up_gradient, normed_gradient);
    auto const part = temporary("mlp.gate.input_gradient", hidden_);
    w_.linear_backward("mlp.gate", tensors_.gate, second_normed_, gate_gradient, part);
    add_to_gradient("mlp.gate", normed_gradient, part);
  } else {
    w_.backward("mlp.activation.backward", w_.memory_bound(ffn_, 3),
                {reads(up_), reads(activated_gradient), writes(up_gradient)});
    w_.linear_backward("mlp.up", tensors_.up, second_normed_, up_gradient, normed_gradient);
  }
  auto const input_gradient = temporary("mlp.input_gradient", hidden_);
  w_.norm_backward("mlp.norm", tensors_.second_norm, second_saved_, {normed_gradient}, input_gradient);
  w_.backward("mlp.residual.backward", w_.memory_bound(hidden_, 3),
              {reads(output_gradient_), reads(input_gradient), writes(middle_gradient_)});
}

/// sum = skip + branch, the branch after dropout if the model has it; returns the slot of the dropout's mask.
std::int32_t BlockWriter::residual(std::string const& name, std::int32_t branch, std::int32_t skip, std::int32_t sum) {
  auto accesses = UnitWriter::Accesses{reads(branch), reads(skip), writes(sum)};
  auto mask = -1;
  if (model_.dropout) {
    mask = w_.slot({name + ".mask", kSaved, hidden_, DataType::kInt8});
    accesses.push_back(writes(mask));
  }
  w_.forward(name + ".residual.forward", w_.memory_bound(hidden_, 3, model_.dropout ? 1 : 0), std::move(accesses),
             model_.dropout ? 2 : 1);
  return mask;
}

/// The gradient of a residual branch: that of the sum, or what its dropout lets through.
std::int32_t BlockWriter::branch_gradient(std::string const& name, std::int32_t gradient, std::int32_t mask) {
  if (mask < 0) return gradient;
  auto const branch = temporary(name + ".branch_gradient", hidden_);
  w_.backward(name + ".dropout.backward", w_.memory_bound(hidden_, 2, 1),
              {reads(gradient), reads(mask), writes(branch)});
  return branch;
}

/// Autograd adds the gradients of a tensor with several readers in place.
void BlockWriter::add_to_gradient(std::string const& name, std::int32_t sum, std::int32_t part) {
  w_.backward(name + ".add_gradient", w_.memory_bound(hidden_, 3), {reads(part), updates(sum)});
}

}  // namespace

UnitWork block_work(Transformer const& model, std::vector<Tensor> parameters, Shape const& shape) {
  return BlockWriter{model, std::move(parameters), shape}.write();
}

}  // namespace twinstep::strategies
