#include <cmath>

#include "strategies/model/block_writer.hpp"

namespace twinstep::strategies {

using program::Function;
using program::Gemm;
using enum SlotKind;

program::Attention BlockWriter::attention(bool backward) const {
  auto const& shape = w_.shape();
  return {
      shape.micro_batch,  model_.heads, model_.kv_heads, shape.sequence_length, shape.sequence_length, model_.head_size,
      shape.compute_type, true,         backward,        model_.alibi};
}

void BlockWriter::flash_forward() {
  log_sum_exp_ = w_.slot({"attention.log_sum_exp", kSaved, w_.tokens() * model_.heads, w_.statistics_type()});
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

program::Elementwise BlockWriter::heads_kernel(Function function, std::int64_t elements) const {
  auto work = w_.memory_bound(function, elements, 1);
  work.rows = {.sequence = static_cast<std::int32_t>(w_.shape().sequence_length),
               .heads = static_cast<std::int32_t>(model_.heads),
               .head_size = static_cast<std::int32_t>(model_.head_size)};
  return work;
}

program::Elementwise BlockWriter::softmax(Function function, std::int64_t elements, int passes) const {
  auto work = w_.memory_bound(model_.alibi ? Function::kCostOnly : function, elements, passes);
  work.rows.width = static_cast<std::int32_t>(w_.shape().sequence_length);
  work.scalar = 1 / std::sqrt(static_cast<double>(model_.head_size));
  return work;
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
  w_.forward("attention.heads.forward", heads_kernel(Function::kSplitHeads, sources + 3 * size), std::move(accesses),
             3);

  auto const scores = temporary("attention.scores", count);
  auto query_key = score_gemm(length, model_.head_size);
  query_key.transpose_b = true;
  w_.forward("attention.scores.forward", query_key, {reads(query_), reads(key_), writes(scores)});
  if (model_.alibi) w_.forward("attention.alibi.forward", w_.memory_bound(count, 2), {updates(scores)});
  probabilities_ = w_.slot("attention.probabilities", kSaved, count);
  w_.forward("attention.softmax.forward", softmax(Function::kSoftmax, count, 2),
             {reads(scores), writes(probabilities_)});
  dropped_ = probabilities_;
  if (model_.dropout) {
    dropped_ = w_.slot("attention.dropped_probabilities", kSaved, count);
    score_mask_ = w_.slot({"attention.score_mask", kSaved, count, DataType::kInt8});
    w_.forward("attention.dropout.forward", w_.memory_bound(count, 2, 1),
               {reads(probabilities_), writes(dropped_), writes(score_mask_)});
  }
  auto by_value = score_gemm(model_.head_size, length);
  by_value.side_by_side = {heads(), false, false, true};
  w_.forward("attention.context.forward", by_value, {reads(dropped_), reads(value_), writes(context_)});
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
  by_value.side_by_side = {heads(), true, false, false};
  auto by_rows = score_gemm(model_.head_size, length);
  by_rows.transpose_a = true;
  by_rows.side_by_side = {heads(), false, true, !is_grouped};
  auto by_key = score_gemm(model_.head_size, length);
  by_key.side_by_side = {heads(), false, false, true};
  auto const probability_gradient = temporary("attention.probability_gradient", count);
  w_.backward("attention.context.data_gradient", by_value,
              {reads(gradient), reads(value_), writes(probability_gradient)});
  w_.backward("attention.context.value_gradient", by_rows, {reads(dropped_), reads(gradient), writes(value_gradient)});
  if (model_.dropout) {
    w_.backward("attention.dropout.backward", w_.memory_bound(count, 2, 1),
                {updates(probability_gradient), reads(score_mask_)});
  }
  auto const score_gradient = temporary("attention.score_gradient", count);
  w_.backward("attention.softmax.backward", softmax(Function::kSoftmaxBackward, count, 3),
              {reads(probabilities_), reads(probability_gradient), writes(score_gradient)});
  w_.backward("attention.scores.query_gradient", by_key, {reads(score_gradient), reads(key_), writes(query_gradient_)});
  by_rows.side_by_side.b = false;
  w_.backward("attention.scores.key_gradient", by_rows, {reads(score_gradient), reads(query_), writes(key_gradient)});
  if (!is_grouped) return;
  w_.backward("attention.heads.backward", heads_kernel(Function::kMergeHeads, 2 * (size + w_.elements(key_gradient_))),
              {reads(key_gradient), reads(value_gradient), writes(key_gradient_), writes(value_gradient_)}, 2);
}

}  // namespace twinstep::strategies
