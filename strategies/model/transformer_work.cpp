#include <utility>

#include "strategies/model/transformer_layout.hpp"
#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {
namespace {

using program::Function;
using program::MemoryCategory;
using enum SlotKind;

constexpr std::int32_t kLayer = 1, kHead = 2;  // the kinds of a transformer, after kEmbeddingKind

/// The gradient of the token matrix: zeros, then the gradient rows added where their tokens are. A tied matrix has
/// a gradient already, from the head: the new one is made apart and added to it.
void write_token_gradient(UnitWriter& w, bool is_tied, std::int32_t matrix, std::int32_t ids, std::int32_t gradient) {
  auto const size = w.elements(matrix);
  auto const matrix_gradient = matrix + 1;
  auto target = matrix_gradient;
  if (is_tied) {
    target = w.slot({"token_gradient", kTemporary, size, w.shape().compute_type, MemoryCategory::kGradients});
  }
  auto zero = w.memory_bound(Function::kFill, size, is_tied ? 1 : 2);
  zero.scalar = 0;
  w.backward("embedding.zero_gradient", zero, {writes(target)});
  w.backward("embedding.tokens.backward", w.memory_bound(Function::kScatterRows, w.elements(gradient), 5),
             {reads(gradient), reads(ids), updates(target)});
  if (is_tied) {
    w.backward("embedding.add_gradient", w.memory_bound(Function::kAddTo, size, 3),
               {reads(target), updates(matrix_gradient)});
  }
}

/// Token rows, plus position rows, then dropout. Bytes of the token rows in 16 bits: 14 h a token and 4 for each
/// element of the matrix, forward and backward together.
UnitWork embedding_work(Transformer const& model, std::vector<Tensor> parameters, Shape const& shape) {
  auto w = UnitWriter{"embedding", std::move(parameters), shape};
  auto const modules = modules_of(model);
  auto const size = w.tokens() * model.hidden / (shape.split.sequence ? shape.split.ranks : 1);
  auto const matrix = w.parameter(modules.token_embedding + ".weight");
  auto const has_positions = model.positions > 0;
  auto const positions_matrix = has_positions ? w.parameter(modules.position_embedding + ".weight") : -1;
  auto const ids = w.slot({"token_ids", kData, w.tokens(), DataType::kInt32, MemoryCategory::kInputs});
  auto const out = w.slot("output", kOutput, size);
  auto const summed = model.dropout ? w.slot("embedding.sum", kTemporary, size) : out;
  auto const whole_size = w.tokens() * model.hidden;
  auto const is_split = shape.split.ranks > 1;
  auto const tokens = has_positions || is_split ? w.slot("embedding.tokens", kTemporary, whole_size) : summed;
  auto gradient = w.slot("output_gradient", kOutputGradient, size);

  w.forward("embedding.tokens.forward", w.memory_bound(Function::kGatherRows, whole_size, 2),
            {reads(ids), reads(matrix), writes(tokens)});
  auto const summed_tokens =
      w.reduced("embedding.tokens", tokens, UnitWriter::Pass::kForward, has_positions ? -1 : summed);
  auto const positions = [&](Function function, int passes) {
    auto work = w.memory_bound(function, size, passes);
    work.rows.width = static_cast<std::int32_t>(model.hidden);
    work.rows.sequence = static_cast<std::int32_t>(shape.sequence_length);
    return work;
  };
  if (has_positions) {
    w.forward("embedding.positions.forward", positions(Function::kAddRepeated, 2),
              {reads(summed_tokens), reads(positions_matrix), writes(summed)}, 2);
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
    w.backward("embedding.positions.backward", positions(Function::kSumRepeated, 1),
               {reads(gradient), writes(positions_matrix + 1)});
  }
  write_token_gradient(w, model.tied_embeddings, matrix, ids,
                       w.gathered("embedding.gradient", gradient, UnitWriter::Pass::kBackward));
  return std::move(w).finish();
}

}  // namespace

ModelWork units_of(Transformer const& whole, Shape const& shape) {
  auto const model = share_of(whole, shape.split);
  auto parameters = parameters_of(model);
  for (auto& unit : parameters) mark_partial_gradients(unit.tensors, model, shape.split);
  auto const token_matrix = parameters[kEmbeddingKind].tensors.front();
  auto out = ModelWork{};
  out.kinds.push_back(embedding_work(model, std::move(parameters[kEmbeddingKind].tensors), shape));
  out.kinds.push_back(block_work(model, std::move(parameters[kLayer].tensors), shape));
  out.kinds.push_back(head_work(model, std::move(parameters[kHead].tensors), token_matrix, shape));
  out.units.push_back({kEmbeddingKind});
  for (std::int32_t layer = 0; layer < model.layers; ++layer) out.units.push_back({kLayer, layer});
  out.units.push_back({kHead});
  return out;
}

}  // namespace twinstep::strategies
