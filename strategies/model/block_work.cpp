#include <utility>

#include "strategies/model/block_writer.hpp"

namespace twinstep::strategies {

using program::Function;
using enum SlotKind;

BlockWriter::BlockWriter(Transformer const& model, std::vector<Tensor> parameters, Shape const& shape)
    : model_{model}, modules_{modules_of(model)}, w_{"layer", std::move(parameters), shape} {
  whole_ = w_.tokens() * model.hidden;
  hidden_ = shape.split.sequence ? whole_ / shape.split.ranks : whole_;
  ffn_ = w_.tokens() * model.ffn;
  input_ = w_.slot("input", kInput, hidden_);
}

UnitWork BlockWriter::write() && {
  attention_forward();
  mlp_forward();
  output_gradient_ = w_.slot("output_gradient", kOutputGradient, hidden_);
  middle_gradient_ = w_.slot("middle_gradient", kTemporary, hidden_);
  input_gradient_ = w_.slot("input_gradient", kInputGradient, hidden_);
  mlp_backward();
  attention_backward();
  return std::move(w_).finish();
}

/// The layer that leads out of a branch. Where ranks add up their products, its bias comes with the residual.
std::int32_t BlockWriter::leave_branch(std::string const& name, std::string const& tensor, std::int32_t in) {
  auto const is_split = w_.shape().split.ranks > 1;
  auto const product = temporary(name, whole_);
  w_.linear(name, tensor, in, product, is_split ? UnitWriter::Bias::kBehind : UnitWriter::Bias::kInProduct);
  return w_.reduced(name, product, UnitWriter::Pass::kForward);
}

/// sum = skip + branch, the branch after dropout if the model has it; returns the slot of the dropout's mask. `tensor`
/// leads out of the branch.
std::int32_t BlockWriter::residual(std::string const& name, std::string const& tensor, std::int32_t branch,
                                   std::int32_t skip, std::int32_t sum) {
  auto const has_bias = w_.shape().split.ranks > 1 && w_.has_parameter(tensor + ".bias");
  auto accesses = UnitWriter::Accesses{reads(branch), reads(skip)};
  if (has_bias) accesses.push_back(reads(w_.parameter(tensor + ".bias")));
  accesses.push_back(writes(sum));
  auto mask = -1;
  if (model_.dropout) {
    mask = w_.slot({name + ".mask", kSaved, hidden_, DataType::kInt8});
    accesses.push_back(writes(mask));
  }
  auto const function = model_.dropout ? Function::kCostOnly : has_bias ? Function::kAddRepeated : Function::kAdd;
  auto work = w_.memory_bound(function, hidden_, 3, model_.dropout ? 1 : 0);
  if (has_bias) work.rows.width = static_cast<std::int32_t>(model_.hidden);
  w_.forward(name + ".residual.forward", work, std::move(accesses), model_.dropout ? 2 : 1);
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
  w_.backward(name + ".add_gradient", w_.memory_bound(Function::kAddTo, w_.elements(sum), 3),
              {reads(part), updates(sum)});
}

/// Turns the gradient behind a layer's norm, if it has one, into that before it.
void BlockWriter::norm_backward(BranchEntry& layer) {
  if (layer.norm.empty()) return;
  auto const unnormed = temporary(layer.name + ".unnormed_gradient", w_.elements(layer.out_gradient));
  w_.norm_backward(layer.name + ".norm", layer.norm, layer.saved_norm, {layer.out_gradient}, unnormed);
  layer.out_gradient = unnormed;
}

/// The gradient of a branch's normed input, from those of the layers that read it: with a tensor group the sum over its
/// ranks.
std::int32_t BlockWriter::enter_branch_backward(std::string const& name, std::int32_t part, std::int32_t gathered,
                                                std::vector<BranchEntry> layers) {
  auto const& split = w_.shape().split;
  auto const hides = split.ranks > 1 && split.hides_collectives;
  auto const input = hides ? w_.gathered(name + ".gather_again", part, UnitWriter::Pass::kBackward) : gathered;
  auto const sum = temporary(name + "_gradient", whole_);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto& layer = layers[i];
    norm_backward(layer);
    auto const share = i == 0 ? sum : temporary(layer.name + ".input_gradient", whole_);
    w_.data_gradient(layer.name, layer.tensor, layer.out_gradient, share);
    if (!hides) w_.weight_and_bias_gradients(layer.name, layer.tensor, input, layer.out_gradient);
    if (i > 0) add_to_gradient(layer.name, sum, share);
  }
  auto const reduced = w_.reduced(name + "_gradient", sum, UnitWriter::Pass::kBackward);
  if (hides)
    for (auto const& layer : layers) w_.weight_and_bias_gradients(layer.name, layer.tensor, input, layer.out_gradient);
  return reduced;
}

UnitWork block_work(Transformer const& model, std::vector<Tensor> parameters, Shape const& shape) {
  return BlockWriter{model, std::move(parameters), shape}.write();
}

}  // namespace twinstep::strategies
