#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "strategies/model/loss_writer.hpp"
#include "strategies/model/transformer_layout.hpp"
#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {
namespace {

using program::MemoryCategory;
using enum SlotKind;
using enum UnitWriter::Pass;

/// Into how many parts chunked cross-entropy cuts the tokens. Source: torchtune's CEWithChunkedOutputLoss.
constexpr std::int64_t kChunks = 8;

/// Writes the kernels of the final norm, the output matrix, and the cross-entropy, from which backward starts.
class HeadWriter {
 public:
  HeadWriter(Transformer const& model, std::vector<Tensor> parameters, Tensor const& embedding, Shape const& shape);
  UnitWork write() &&;

 private:
  void make_matrix(Tensor const& embedding);
  void write_whole();
  void write_chunks();

  Transformer const& model_;
  TransformerModules modules_;
  UnitWriter w_;
  std::int64_t whole_;  ///< elements of [tokens, hidden]
  std::int64_t size_;   ///< … of the tokens that the rank has between linear layers
  std::int32_t matrix_ = -1, matrix_gradient_ = -1;
  std::int32_t input_ = -1;
};

HeadWriter::HeadWriter(Transformer const& model, std::vector<Tensor> parameters, Tensor const& embedding,
                       Shape const& shape)
    : model_{model},
      modules_{modules_of(model)},
      w_{"head", std::move(parameters), shape},
      whole_{w_.tokens() * model.hidden},
      size_{shape.split.sequence ? whole_ / shape.split.ranks : whole_} {
  make_matrix(embedding);
  input_ = w_.slot("input", kInput, size_);
}

void HeadWriter::make_matrix(Tensor const& embedding) {
  if (!model_.tied_embeddings) {
    matrix_ = w_.parameter(modules_.output + ".weight");
    matrix_gradient_ = matrix_ + 1;
    return;
  }
  auto const& shape = w_.shape();
  auto const elements = embedding.elements();
  matrix_ = w_.slot(
      {embedding.name, kParameter, elements, shape.compute_type, MemoryCategory::kParameters, 0, kEmbeddingKind});
  matrix_gradient_ = w_.slot({embedding.name + ".gradient", kParameterGradient, elements, shape.gradient_type,
                              MemoryCategory::kGradients, 0, kEmbeddingKind});
}

UnitWork HeadWriter::write() && {
  if (w_.shape().cross_entropy == CrossEntropy::kChunked) {
    write_chunks();
  } else {
    write_whole();
  }
  return std::move(w_).finish();
}

void HeadWriter::write_whole() {
  auto const normed = w_.slot("head.norm", kSaved, size_);
  auto const targets = w_.slot({"targets", kData, w_.tokens(), DataType::kInt32, MemoryCategory::kInputs});
  auto loss = LossWriter{w_, "head", reads(targets), w_.tokens() * model_.vocabulary, kForward};
  auto const saved = w_.norm("head.norm", modules_.final_norm, model_.norm, input_, {normed});
  auto const gathered = w_.gathered("head.norm", normed, kForward);
  w_.matrix("head.logits", gathered, matrix_, loss.logits());
  loss.forward();

  auto const logits_gradient = loss.backward();
  auto const& split = w_.shape().split;
  auto const hides = split.ranks > 1 && split.hides_collectives;
  auto const input = hides ? w_.gathered("head.norm.gather_again", normed, kBackward) : gathered;
  auto const sum = w_.slot("head.norm_gradient", kTemporary, whole_);
  w_.matrix_data_gradient("head.logits", matrix_, logits_gradient, sum);
  if (!hides) w_.matrix_weight_gradient("head.logits", input, matrix_gradient_, logits_gradient);
  auto const normed_gradient = w_.reduced("head.norm_gradient", sum, kBackward);
  if (hides) w_.matrix_weight_gradient("head.logits", input, matrix_gradient_, logits_gradient);
  w_.norm_backward("head.norm", modules_.final_norm, saved, {normed_gradient},
                   w_.slot("input_gradient", kInputGradient, size_));
}

// Each chunk goes from its logits to their gradient and on to the gradients of the norm's result and of the matrix
// before the next one begins: in backward, which follows at once.
void HeadWriter::write_chunks() {
  auto const targets = w_.slot({"targets", kData, w_.tokens(), DataType::kInt32, MemoryCategory::kInputs});
  auto const chunks = std::min(kChunks, w_.tokens());
  auto rows = std::vector<std::int64_t>{};
  auto normed = std::vector<std::int32_t>{};
  for (std::int64_t i = 0; i < chunks; ++i) {
    rows.push_back((i + 1) * w_.tokens() / chunks - i * w_.tokens() / chunks);
    normed.push_back(w_.slot(fmt::format("head.norm.{}", i), kSaved, rows.back() * model_.hidden));
  }
  auto const saved = w_.norm("head.norm", modules_.final_norm, model_.norm, input_, normed);
  auto gradients = std::vector<std::int32_t>{};
  auto first_row = std::int64_t{0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const name = fmt::format("head.{}", i);
    auto const own_targets = SlotAccess{targets, program::AccessMode::kRead, first_row, rows[i]};
    first_row += rows[i];
    auto loss = LossWriter{w_, name, own_targets, rows[i] * model_.vocabulary, kBackward};
    auto products = linear_products(rows[i], model_.hidden, model_.vocabulary, w_.shape().compute_type);
    w_.backward(name + ".logits.forward", products.forward, {reads(normed[i]), reads(matrix_), writes(loss.logits())});
    loss.forward();
    auto const logits_gradient = loss.backward();
    gradients.push_back(w_.slot(name + ".norm_gradient", kTemporary, rows[i] * model_.hidden));
    w_.backward(name + ".logits.data_gradient", products.data_gradient,
                {reads(logits_gradient), reads(matrix_), writes(gradients.back())});
    products.weight_gradient.accumulate = i > 0;
    w_.backward(
        name + ".logits.weight_gradient", products.weight_gradient,
        {reads(logits_gradient), reads(normed[i]), i > 0 ? updates(matrix_gradient_) : writes(matrix_gradient_)});
  }
  w_.norm_backward("head.norm", modules_.final_norm, saved, gradients,
                   w_.slot("input_gradient", kInputGradient, size_));
}

}  // namespace

UnitWork head_work(Transformer const& model, std::vector<Tensor> parameters, Tensor const& embedding,
                   Shape const& shape) {
  return HeadWriter{model, std::move(parameters), embedding, shape}.write();
}

}  // namespace twinstep::strategies
