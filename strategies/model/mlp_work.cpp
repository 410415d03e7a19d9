#include <map>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"
#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {
namespace {

using program::Elementwise;
using program::Function;
using program::MemoryCategory;
using enum SlotKind;

/// What tells the layers of an MLP apart.
struct LayerKind {
  std::int64_t in = 1;
  std::int64_t out = 1;
  bool is_first = false;  ///< reads the batch and needs no input gradient
  bool is_last = false;   ///< has no activation
  auto operator<=>(LayerKind const&) const = default;
};

/// A kernel that an executor can run on data: `passes` operands of the compute type.
Elementwise kernel(Function function, std::int64_t elements, int passes, Shape const& shape, double scalar = 1) {
  auto const bytes = passes * static_cast<int>(size_of(shape.compute_type).count());
  return {.function = function,
          .elements = elements,
          .bytes_per_element = bytes,
          .type = shape.compute_type,
          .scalar = scalar};
}

/// output = gelu(input · weightᵀ), or without gelu in the last layer.
UnitWork layer_work(LayerKind const& layer, Shape const& shape) {
  auto w = UnitWriter{"layer", {{"weight", layer.out, layer.in}}, shape};
  auto const in_size = w.tokens() * layer.in;
  auto const out_size = w.tokens() * layer.out;
  auto const weight = w.parameter("weight");
  auto const input = layer.is_first ? w.slot({"batch", kData, in_size, shape.compute_type, MemoryCategory::kInputs})
                                    : w.slot("input", kInput, in_size);
  auto const output = w.slot("output", kOutput, out_size);
  auto product = output;
  if (layer.is_last) {
    w.matrix("linear", input, weight, output);
  } else {
    product = w.slot("product", kSaved, out_size);
    w.matrix("linear", input, weight, product);
    w.forward("gelu.forward", kernel(Function::kGelu, out_size, 2, shape), {reads(product), writes(output)});
  }
  auto gradient = w.slot("output_gradient", kOutputGradient, out_size);
  if (!layer.is_last) {
    auto const product_gradient = w.slot("product_gradient", kTemporary, out_size);
    w.backward("gelu.backward", kernel(Function::kGeluBackward, out_size, 3, shape),
               {reads(product), reads(gradient), writes(product_gradient)});
    gradient = product_gradient;
  }
  auto const input_gradient = layer.is_first ? -1 : w.slot("input_gradient", kInputGradient, in_size);
  w.matrix_backward("linear", input, weight, w.gradient("weight"), gradient, input_gradient);
  return std::move(w).finish();
}

/// The squared error. Only its gradient is computed.
UnitWork loss_work(std::int64_t width, Shape const& shape) {
  auto w = UnitWriter{"loss", {}, shape};
  auto const size = w.tokens() * width;
  auto const prediction = w.slot("input", kInput, size);
  auto const target = w.slot({"target", kData, size, shape.compute_type, MemoryCategory::kInputs});
  auto const gradient = w.slot("input_gradient", kInputGradient, size);
  w.backward("loss.backward", kernel(Function::kSquaredError, size, 3, shape, shape.loss_scale),
             {reads(prediction), reads(target), writes(gradient)});
  return std::move(w).finish();
}

}  // namespace

ModelWork units_of(Mlp const& model, Shape const& shape) {
  TWINSTEP_CHECK(model.widths.size() >= 2, "an MLP has at least one layer");
  auto out = ModelWork{};
  auto kinds = std::map<LayerKind, std::int32_t>{};
  for (std::size_t i = 1; i < model.widths.size(); ++i) {
    auto const layer = LayerKind{model.widths[i - 1], model.widths[i], i == 1, i + 1 == model.widths.size()};
    auto const [found, is_new] = kinds.try_emplace(layer, static_cast<std::int32_t>(out.kinds.size()));
    if (is_new) out.kinds.push_back(layer_work(layer, shape));
    out.units.push_back({found->second, static_cast<std::int32_t>(i) - 1});
  }
  out.units.push_back({static_cast<std::int32_t>(out.kinds.size())});
  out.kinds.push_back(loss_work(model.widths.back(), shape));
  return out;
}

}  // namespace twinstep::strategies
