#include "tests/support/mesh_mlps.hpp"

#include <utility>

#include "strategies/model/unit_writer.hpp"

namespace twinstep::tests {

using namespace strategies;
using program::Elementwise;
using program::Function;
using program::MemoryCategory;
using enum SlotKind;

namespace {

/// A layer as its rank computes it.
struct Layer {
  std::int64_t in = 1;  ///< columns of its matrix that this rank has
  std::int64_t out = 1;
  bool is_first = false;
  bool is_last = false;
  std::int32_t set = 0;
};

Elementwise kernel(Function function, std::int64_t elements, int passes, Shape const& shape, double scalar = 1) {
  auto const bytes = passes * static_cast<int>(size_of(shape.compute_type).count());
  return {.function = function,
          .elements = elements,
          .bytes_per_element = bytes,
          .type = shape.compute_type,
          .scalar = scalar};
}

/// Writes gelu(input · weightᵀ) and its backward; those who split it add their collectives where tensors change hands.
struct LayerWriter {
  LayerWriter(Layer const& layer_, Shape const& rows_)
      : layer{layer_}, rows{rows_}, w{"layer", {{"weight", layer.out, layer.in, layer.set}}, rows} {}

  std::int32_t activation(std::string_view name, SlotKind kind, std::int64_t width) {
    return w.slot(name, kind, w.tokens() * width);
  }
  std::int32_t input() {
    return layer.is_first ? w.slot({"batch", kData, w.tokens() * layer.in, rows.compute_type, MemoryCategory::kInputs})
                          : activation("input", kInput, layer.in);
  }
  void gelu(std::int32_t product, std::int32_t output) {
    w.forward("gelu.forward", kernel(Function::kGelu, w.elements(product), 2, rows), {reads(product), writes(output)});
  }
  /// The gradient of the product from that of the output.
  std::int32_t gelu_backward(std::int32_t product, std::int32_t gradient) {
    auto const out = w.slot("product_gradient", kTemporary, w.elements(product));
    w.backward("gelu.backward", kernel(Function::kGeluBackward, w.elements(product), 3, rows),
               {reads(product), reads(gradient), writes(out)});
    return out;
  }

  Layer layer;
  Shape rows;
  UnitWriter w;
};

UnitCollective all_reduce() {
  return {"tensor", CollectiveKind::kAllReduce};
}

UnitWork column_layer(Layer const& layer, Shape const& shape) {
  auto l = LayerWriter{layer, shape};
  auto const input = l.input();
  auto const product = l.activation("product", kSaved, layer.out);
  auto const output = l.activation("output", kOutput, layer.out);
  l.w.matrix("linear", input, l.w.parameter("weight"), product);
  l.gelu(product, output);
  auto const gradient = l.gelu_backward(product, l.activation("output_gradient", kOutputGradient, layer.out));
  auto const input_gradient = layer.is_first ? -1 : l.activation("input_gradient", kInputGradient, layer.in);
  l.w.matrix_backward("linear", input, l.w.parameter("weight"), l.w.gradient("weight"), gradient, input_gradient);
  if (!layer.is_first) l.w.backward("linear.all_reduce", all_reduce(), {reads(input_gradient), writes(input_gradient)});
  return std::move(l.w).finish();
}

UnitWork row_layer(Layer const& layer, Shape const& shape) {
  auto l = LayerWriter{layer, shape};
  auto const input = l.input();
  auto const output = l.activation("output", kOutput, layer.out);
  auto const product = layer.is_last ? output : l.activation("product", kSaved, layer.out);
  l.w.matrix("linear", input, l.w.parameter("weight"), product);
  l.w.forward("linear.all_reduce", all_reduce(), {reads(product), writes(product)});
  if (!layer.is_last) l.gelu(product, output);
  auto gradient = l.activation("output_gradient", kOutputGradient, layer.out);
  if (!layer.is_last) gradient = l.gelu_backward(product, gradient);
  auto const input_gradient = l.activation("input_gradient", kInputGradient, layer.in);
  l.w.matrix_backward("linear", input, l.w.parameter("weight"), l.w.gradient("weight"), gradient, input_gradient);
  return std::move(l.w).finish();
}

/// The first half of an expert: `rows` are those of all ranks of its group.
UnitWork expert_columns(Layer const& layer, Shape const& rows, std::int64_t ways) {
  auto l = LayerWriter{layer, rows};
  auto const own = l.w.tokens() / ways * layer.in;
  auto const input = l.w.slot("input", kInput, own);
  auto const gathered = l.activation("gathered", kSaved, layer.in);
  auto const product = l.activation("product", kSaved, layer.out);
  auto const output = l.activation("output", kOutput, layer.out);
  l.w.forward("gather", {"expert", CollectiveKind::kAllGather}, {reads(input), writes(gathered)});
  l.w.matrix("linear", gathered, l.w.parameter("weight"), product);
  l.gelu(product, output);
  auto const gradient = l.gelu_backward(product, l.activation("output_gradient", kOutputGradient, layer.out));
  auto const partial = l.activation("partial_gradient", kTemporary, layer.in);
  l.w.matrix_backward("linear", gathered, l.w.parameter("weight"), l.w.gradient("weight"), gradient, partial);
  auto const input_gradient = l.w.slot("input_gradient", kInputGradient, own);
  l.w.backward("gather.backward", {"expert", CollectiveKind::kReduceScatter}, {reads(partial), writes(input_gradient)});
  return std::move(l.w).finish();
}

/// The second half.
UnitWork expert_rows(Layer const& layer, Shape const& rows, std::int64_t ways) {
  auto l = LayerWriter{layer, rows};
  auto const own = l.w.tokens() / ways * layer.out;
  auto const input = l.input();
  auto const partial = l.activation("partial", kTemporary, layer.out);
  auto const product = l.w.slot("product", kSaved, own);
  auto const output = l.w.slot("output", kOutput, own);
  l.w.matrix("linear", input, l.w.parameter("weight"), partial);
  l.w.forward("scatter", {"expert", CollectiveKind::kReduceScatter}, {reads(partial), writes(product)});
  l.gelu(product, output);
  auto const gradient = l.gelu_backward(product, l.w.slot("output_gradient", kOutputGradient, own));
  auto const gathered = l.activation("gathered_gradient", kTemporary, layer.out);
  l.w.backward("scatter.backward", {"expert", CollectiveKind::kAllGather}, {reads(gradient), writes(gathered)});
  auto const input_gradient = l.activation("input_gradient", kInputGradient, layer.in);
  l.w.matrix_backward("linear", input, l.w.parameter("weight"), l.w.gradient("weight"), gathered, input_gradient);
  return std::move(l.w).finish();
}

/// The kinds of an MLP's units, each once, before the loss.
ModelWork with_layers(std::vector<std::int64_t> const& widths, Shape const& shape, std::vector<UnitWork> layers) {
  auto model = work_of(Mlp{"mlp", widths}, shape);
  auto loss = model.work(model.units.back());
  model.kinds = std::move(layers);
  model.units.clear();
  for (std::size_t i = 0; i < model.kinds.size(); ++i)
    model.units.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i)});
  model.units.push_back({static_cast<std::int32_t>(model.kinds.size())});
  model.kinds.push_back(std::move(loss));
  return model;
}

}  // namespace

ModelWork split_mlp(std::vector<std::int64_t> const& widths, Shape const& shape, std::int64_t ways) {
  auto layers = std::vector<UnitWork>{};
  for (std::size_t i = 0; i + 2 < widths.size(); i += 2) {
    layers.push_back(column_layer({.in = widths[i], .out = widths[i + 1] / ways, .is_first = i == 0}, shape));
    layers.push_back(
        row_layer({.in = widths[i + 1] / ways, .out = widths[i + 2], .is_last = i + 3 == widths.size()}, shape));
  }
  return with_layers(widths, shape, std::move(layers));
}

ModelWork expert_mlp(std::vector<std::int64_t> const& widths, Shape const& shape) {
  constexpr std::int64_t kWays = 2;
  auto rows = shape;
  rows.micro_batch *= kWays;
  auto const whole = work_of(Mlp{"mlp", widths}, shape);
  return with_layers(
      widths, shape,
      {whole.work(whole.units[0]), expert_columns({.in = widths[1], .out = widths[2] / kWays, .set = 1}, rows, kWays),
       expert_rows({.in = widths[2] / kWays, .out = widths[3], .set = 1}, rows, kWays), whole.work(whole.units[3])});
}

}  // namespace twinstep::tests
