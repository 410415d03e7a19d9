#include <utility>

#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {
namespace {

using program::MemoryCategory;
using enum SlotKind;

constexpr std::int32_t kEmbedding = 0, kLayer = 1, kHead = 2;  // the kinds of a transformer

/// The gradient of the token matrix: zeros, then the gradient rows added where their tokens are. A tied matrix has
/// a gradient already, from the head: the new one is made apart and added to it.
void write_token_gradient(UnitWriter& w, bool is_tied, std::int32_t matrix, std::int32_t ids, std::int32_t gradient) {
  auto const size = w.elements(matrix);
  auto const matrix_gradient = matrix + 1;
  auto target = matrix_gradient;
  if (is_tied) {
    target = w.slot({"token_gradient", kTemporary, size, w.shape().compute_type, MemoryCategory::kGradients});
  }
  w.backward("embedding.zero_gradient", w.memory_bound(size, is_tied ? 1 : 2), {writes(target)});
  w.backward("embedding.tokens.backward", w.memory_bound(w.elements(gradient), 5),
             {reads(gradient), reads(ids), updates(target)});
  if (is_tied) {
    w.backward("embedding.add_gradient", w.memory_bound(size, 3), {reads(target), updates(matrix_gradient)});
  }
}

/// Token rows, plus position rows, then dropout. Bytes of the token rows in 16 bits: 14 h a token and 4 for each
/// element of the matrix, forward and backward together.
UnitWork embedding_work(Transformer const& model, std::vector<Tensor> parameters, Shape const& shape) {
  auto w = UnitWriter{"embedding", std::move(parameters), shape};
  auto const size = w.tokens() * model.hidden;
  auto const matrix = w.parameter(model.fused_qkv ? "wte.weight" : "embed_tokens.weight");
  auto const has_positions = model.positions > 0;
  auto const ids = w.slot({"token_ids", kData, w.tokens(), DataType::kInt32, MemoryCategory::kInputs});
  auto const out = w.slot("output", kOutput, size);
  auto const summed = model.dropout ? w.slot("embedding.sum", kTemporary, size) : out;
  auto const tokens = has_positions ? w.slot("embedding.tokens", kTemporary, size) : summed;
  auto gradient = w.slot("output_gradient", kOutputGradient, size);

  w.forward("embedding.tokens.forward", w.memory_bound(size, 2), {reads(ids), reads(matrix), writes(tokens)});
  if (has_positions) {
    w.forward("embedding.positions.forward", w.memory_bound(size, 2),
              {reads(tokens), reads(w.parameter("wpe.weight")), writes(summed)}, 2);
  }
  if (model.dropout) {
    auto const mask = w.slot({"embedding.mask", kSaved, size, DataType::kInt8});
    w.forward("embedding.dropout.forward", w.memory_bound(size, 2, 1), {reads(summed), writes(out), writes(mask)});
    auto const masked = w.slot("embedding.branch_gradient", kTemporary, size);
    w.backward("embedding.dropout.backward", w.memory_bound(size, 2, 1),
               {reads(gradient), reads(mask), writes(masked)});
    gradient = masked;
  }
  if (has_positions) {
    w.backward("embedding.positions.backward", w.memory_bound(size, 1),
               {reads(gradient), writes(w.gradient("wpe.weight"))});
  }
  write_token_gradient(w, model.tied_embeddings, matrix, ids, gradient);
  return std::move(w).finish();
}

/// The final norm, the output matrix, and the cross-entropy, from which backward starts.
///
/// Memory for each token and vocabulary entry in 16 bits, all alive in the loss's backward: logits 2 (the caller
/// still holds them), log-probabilities in fp32 4, their gradient 4, and its cast 2: 12 bytes, as in plain PyTorch.
UnitWork head_work(Transformer const& model, std::vector<Tensor> parameters, Tensor const& embedding,
                   Shape const& shape) {
  auto w = UnitWriter{"head", std::move(parameters), shape};
  auto const size = w.tokens() * model.hidden;
  auto const scores = w.tokens() * model.vocabulary;
  auto const norm = model.fused_qkv ? "ln_f" : "norm";
  auto const logits_slot = [&](std::string name, SlotKind kind, DataType type) {
    return w.slot({std::move(name), kind, scores, type, MemoryCategory::kLogits});
  };
  auto matrix = std::int32_t{};
  auto matrix_gradient = std::int32_t{};
  if (model.tied_embeddings) {
    auto const elements = embedding.elements();
    matrix =
        w.slot({embedding.name, kParameter, elements, shape.compute_type, MemoryCategory::kParameters, 0, kEmbedding});
    matrix_gradient = w.slot({embedding.name + ".gradient", kParameterGradient, elements, shape.gradient_type,
                              MemoryCategory::kGradients, 0, kEmbedding});
  } else {
    matrix = w.parameter("lm_head.weight");
    matrix_gradient = w.gradient("lm_head.weight");
  }
  auto const input = w.slot("input", kInput, size);
  auto const normed = w.slot("head.norm", kSaved, size);
  auto const targets = w.slot({"targets", kData, w.tokens(), DataType::kInt32, MemoryCategory::kInputs});
  auto const logits = logits_slot("head.logits", kSaved, shape.compute_type);
  auto const log_probabilities = logits_slot("head.log_probabilities", kSaved, DataType::kFp32);

  auto const statistics = w.norm("head.norm", norm, model.norm, input, normed);
  w.matrix("head.logits", normed, matrix, logits);
  auto loss =
      program::Elementwise{program::Function::kCrossEntropy, scores, kCrossEntropyForwardBytes, shape.compute_type};
  w.forward("head.cross_entropy.forward", loss, {reads(logits), reads(targets), writes(log_probabilities)}, 3);

  auto accesses = UnitWriter::Accesses{reads(logits), reads(targets), reads(log_probabilities)};
  if (size_of(shape.compute_type) < size_of(DataType::kFp32)) {
    accesses.push_back(writes(logits_slot("head.log_probability_gradient", kTemporary, DataType::kFp32)));
  }
  auto const logits_gradient = logits_slot("head.logits_gradient", kTemporary, shape.compute_type);
  accesses.push_back(writes(logits_gradient));
  loss.bytes_per_element = kCrossEntropyBackwardBytes;
  w.backward("head.cross_entropy.backward", loss, std::move(accesses), 3);
  auto const normed_gradient = w.slot("head.norm_gradient", kTemporary, size);
  w.matrix_backward("head.logits", normed, matrix, matrix_gradient, logits_gradient, normed_gradient);
  w.norm_backward("head.norm", norm, input, statistics, normed_gradient,
                  w.slot("input_gradient", kInputGradient, size));
  return std::move(w).finish();
}

}  // namespace

ModelWork units_of(Transformer const& model, Shape const& shape) {
  auto parameters = parameters_of(model);
  auto const token_matrix = parameters[kEmbedding].tensors.front();
  auto out = ModelWork{};
  out.kinds.push_back(embedding_work(model, std::move(parameters[kEmbedding].tensors), shape));
  out.kinds.push_back(block_work(model, std::move(parameters[kLayer].tensors), shape));
  out.kinds.push_back(head_work(model, std::move(parameters[kHead].tensors), token_matrix, shape));
  out.units.push_back({kEmbedding});
  for (std::int32_t layer = 0; layer < model.layers; ++layer) out.units.push_back({kLayer, layer});
  out.units.push_back({kHead});
  return out;
}

}  // namespace twinstep::strategies
