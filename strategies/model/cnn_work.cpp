#include <optional>
#include <utility>

#include "strategies/model/cnn_layout.hpp"
#include "strategies/model/loss_writer.hpp"
#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {
namespace {

using program::Gemm;
using program::MemoryCategory;
using program::Windows;
using enum SlotKind;

/// A convolution and its batch norm in the course of a block: the slots between its kernels.
struct Layer {
  Convolution convolution;
  std::int32_t input = -1;
  std::int32_t convolved = -1;   ///< what the norm normalises
  std::int32_t statistics = -1;  ///< mean and deviation of each channel
};

/// Writes the kernels of
///     output = relu(path(input) + projection(input)),
/// where the path is convolution, batch norm, ReLU, ..., convolution, batch norm, and an absent projection is the
/// identity; and those of the stem, which pools instead of adding.
///
/// Convolutions are implicit GEMMs: the output's pixels are rows, its channels columns, and each row is multiplied with
/// its window of the input; groups are a batch of such products. Passes over memory: batch norm 3 forward (statistics,
/// then the values) and 5 backward, ReLU 2 and 3, adding 3. ReLU works in place, so a norm's result is no tensor of its
/// own; kept are each convolution's input and result (autograd's rules). Each batch norm also counts its batches, which
/// is a launch.
class CnnWriter {
 public:
  CnnWriter(std::string const& name, std::vector<Tensor> parameters, Shape const& shape)
      : w_{name, std::move(parameters), shape}, images_{w_.tokens()} {}

  UnitWork stem(Convolution const& convolution) &&;
  UnitWork block(ConvolutionBlocks const& block) &&;

 private:
  Layer convolve(Convolution const& convolution, std::int32_t input);
  void convolve_backward(Layer const& layer, std::int32_t gradient, std::int32_t input_gradient);
  std::int32_t normalize(Layer& layer, std::string_view result, SlotKind kind);
  std::int32_t normalize_backward(Layer const& layer, std::int32_t gradient);
  void relu(std::string const& name, std::int32_t values);
  std::int32_t relu_backward(std::string const& name, std::int32_t result, std::int32_t gradient);
  [[nodiscard]] Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t groups) const;

  std::int32_t path(std::vector<Convolution> const& convolutions);
  void block_backward(std::int32_t sum_gradient);

  UnitWriter w_;
  std::int64_t images_;
  std::int32_t input_ = -1;
  std::vector<Layer> path_;
  std::optional<Layer> projection_;
};

Gemm CnnWriter::product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t groups) const {
  return {m, n, k, groups, w_.shape().compute_type};
}

Layer CnnWriter::convolve(Convolution const& c, std::int32_t input) {
  auto layer = Layer{c, input, w_.slot(c.name, kSaved, images_ * c.outputs())};
  auto gemm = product(images_ * c.side_out() * c.side_out(), c.out / c.groups, c.window(), c.groups);
  gemm.transpose_b = true;
  gemm.windows = Windows::kA;
  gemm.window_elements = w_.elements(input);
  w_.forward(c.name + ".forward", gemm,
             {reads(input), reads(w_.parameter(c.name + ".weight")), writes(layer.convolved)});
  return layer;
}

/// The gradient of the input (none if `input_gradient` < 0), whose windows it adds up, and that of the weight.
void CnnWriter::convolve_backward(Layer const& layer, std::int32_t gradient, std::int32_t input_gradient) {
  auto const& c = layer.convolution;
  auto const pixels = images_ * c.side_out() * c.side_out();
  auto const weight = c.name + ".weight";
  if (input_gradient >= 0) {
    auto gemm = product(pixels, c.window(), c.out / c.groups, c.groups);
    gemm.windows = Windows::kC;
    gemm.window_elements = w_.elements(input_gradient);
    w_.backward(c.name + ".data_gradient", gemm,
                {reads(gradient), reads(w_.parameter(weight)), writes(input_gradient)});
  }
  auto gemm = product(c.out / c.groups, c.window(), pixels, c.groups);
  gemm.transpose_a = true;
  gemm.windows = Windows::kB;
  gemm.window_elements = w_.elements(layer.input);
  w_.backward(c.name + ".weight_gradient", gemm, {reads(gradient), reads(layer.input), writes(w_.gradient(weight))});
}

/// Returns the slot of the result, which ReLU then works on in place.
std::int32_t CnnWriter::normalize(Layer& layer, std::string_view result, SlotKind kind) {
  auto const& norm = layer.convolution.norm;
  auto const size = w_.elements(layer.convolved);
  auto const out = w_.slot(result, kind, size);
  layer.statistics = w_.slot({norm + ".statistics", kSaved, 2 * layer.convolution.out, DataType::kFp32});
  w_.forward(norm + ".forward", w_.memory_bound(size, 3),
             {reads(layer.convolved), reads(w_.parameter(norm + ".weight")), reads(w_.parameter(norm + ".bias")),
              writes(out), writes(layer.statistics)},
             2);
  return out;
}

std::int32_t CnnWriter::normalize_backward(Layer const& layer, std::int32_t gradient) {
  auto const& norm = layer.convolution.norm;
  auto const size = w_.elements(layer.convolved);
  auto const out = w_.slot(layer.convolution.name + ".gradient", kTemporary, size);
  w_.backward(norm + ".backward", w_.memory_bound(size, 5),
              {reads(layer.convolved), reads(layer.statistics), reads(w_.parameter(norm + ".weight")), reads(gradient),
               writes(out), writes(w_.gradient(norm + ".weight")), writes(w_.gradient(norm + ".bias"))});
  return out;
}

void CnnWriter::relu(std::string const& name, std::int32_t values) {
  w_.forward(name + ".forward", w_.memory_bound(w_.elements(values), 2), {updates(values)});
}

std::int32_t CnnWriter::relu_backward(std::string const& name, std::int32_t result, std::int32_t gradient) {
  auto const size = w_.elements(result);
  auto const out = w_.slot(name + ".gradient", kTemporary, size);
  w_.backward(name + ".backward", w_.memory_bound(size, 3), {reads(result), reads(gradient), writes(out)});
  return out;
}

UnitWork CnnWriter::block(ConvolutionBlocks const& block) && {
  auto const& first = block.path.front();
  input_ = w_.slot("input", kInput, images_ * first.in * first.side * first.side);
  auto const branch = path(block.path);
  auto skip = input_;
  if (block.projection) {
    projection_ = convolve(*block.projection, input_);
    skip = normalize(*projection_, "identity", kTemporary);
  }
  auto const size = w_.elements(branch);
  auto const output = w_.slot("output", kOutput, size);
  w_.forward("residual.forward", w_.memory_bound(size, 3), {reads(branch), reads(skip), writes(output)});
  relu("relu", output);
  block_backward(relu_backward("relu", output, w_.slot("output_gradient", kOutputGradient, size)));
  return std::move(w_).finish();
}

/// Returns the slot of what the last norm makes.
std::int32_t CnnWriter::path(std::vector<Convolution> const& convolutions) {
  auto branch = input_;
  for (auto const& convolution : convolutions) {
    auto const is_last = path_.size() + 1 == convolutions.size();
    auto const relu_name = "relu" + std::to_string(path_.size() + 1);
    path_.push_back(convolve(convolution, branch));
    branch = normalize(path_.back(), is_last ? "branch" : relu_name, is_last ? kTemporary : kSaved);
    if (!is_last) relu(relu_name, branch);
  }
  return branch;
}

/// Autograd comes to the projection first, since forward came to it last.
void CnnWriter::block_backward(std::int32_t sum_gradient) {
  auto skip_gradient = sum_gradient;
  if (projection_) {
    auto const gradient = normalize_backward(*projection_, sum_gradient);
    skip_gradient = w_.slot("skip_gradient", kTemporary, w_.elements(input_));
    convolve_backward(*projection_, gradient, skip_gradient);
  }
  auto gradient = sum_gradient;
  for (auto i = path_.size(); i-- > 0;) {
    auto const normed = normalize_backward(path_[i], gradient);
    gradient = w_.slot(path_[i].convolution.name + ".input_gradient", kTemporary, w_.elements(path_[i].input));
    convolve_backward(path_[i], normed, gradient);
    if (i > 0) gradient = relu_backward("relu" + std::to_string(i), path_[i].input, gradient);
  }
  auto const input_gradient = w_.slot("input_gradient", kInputGradient, w_.elements(input_));
  w_.backward("residual.backward", w_.memory_bound(w_.elements(input_), 3),
              {reads(gradient), reads(skip_gradient), writes(input_gradient)});
}

/// Max pooling of 3 × 3 pixels keeps where each maximum was, as int64.
UnitWork CnnWriter::stem(Convolution const& convolution) && {
  auto const images = w_.slot({"images", kData, images_ * convolution.in * convolution.side * convolution.side,
                               w_.shape().compute_type, MemoryCategory::kInputs});
  auto layer = convolve(convolution, images);
  auto const activated = normalize(layer, "relu", kSaved);
  relu("relu", activated);
  auto const side = pooled(convolution.side_out());
  auto const size = images_ * convolution.out * side * side;
  auto const indices = w_.slot({"maxpool.indices", kSaved, 2 * size, DataType::kInt32});
  auto const output = w_.slot("output", kOutput, size);
  auto const both = w_.elements(activated) + size;
  w_.forward("maxpool.forward", w_.memory_bound(both, 1, 2), {reads(activated), writes(output), writes(indices)});

  auto const gradient = w_.slot("output_gradient", kOutputGradient, size);
  auto const activated_gradient = w_.slot("maxpool.gradient", kTemporary, w_.elements(activated));
  w_.backward("maxpool.backward", w_.memory_bound(both, 1, 2),
              {reads(gradient), reads(indices), writes(activated_gradient)});
  convolve_backward(layer, normalize_backward(layer, relu_backward("relu", activated, activated_gradient)), -1);
  return std::move(w_).finish();
}

/// The mean of each channel, a linear layer and the cross-entropy.
UnitWork head_work(std::vector<Tensor> parameters, ConvolutionBlocks const& last, Shape shape) {
  shape.linear_type.reset();  // which is for blocks
  auto w = UnitWriter{"head", std::move(parameters), shape};
  auto const weight = w.parameter("fc.weight");
  auto const channels = last.path.back().out;
  auto const classes = w.elements(weight) / channels;
  auto const input = w.slot("input", kInput, w.tokens() * last.path.back().outputs());
  auto const means = w.slot("head.means", kSaved, w.tokens() * channels);
  auto const targets = w.slot({"targets", kData, w.tokens(), DataType::kInt32, MemoryCategory::kInputs});
  auto loss = LossWriter{w, "head", reads(targets), w.tokens() * classes, LossWriter::Pass::kForward};
  w.forward("head.pool.forward", w.memory_bound(w.elements(input), 1), {reads(input), writes(means)});
  w.linear("head.fc", "fc", means, loss.logits());
  loss.forward();

  auto const gradient = loss.backward();
  auto const means_gradient = w.slot("head.means_gradient", kTemporary, w.elements(means));
  w.bias_gradient("head.fc", "fc", gradient);
  w.matrix_backward("head.fc", means, weight, w.gradient("fc.weight"), gradient, means_gradient);
  w.backward("head.pool.backward", w.memory_bound(w.elements(input), 1),
             {reads(means_gradient), writes(w.slot("input_gradient", kInputGradient, w.elements(input)))});
  return std::move(w).finish();
}

}  // namespace

ModelWork units_of(Cnn const& model, Shape const& shape) {
  auto parameters = parameters_of(model);
  auto const blocks = blocks_of(model);
  auto out = ModelWork{};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto const& block = blocks[i];
    auto writer = CnnWriter{block.name, std::move(parameters[i].tensors), shape};
    auto const kind = static_cast<std::int32_t>(out.kinds.size());
    out.kinds.push_back(block.is_stem() ? std::move(writer).stem(block.path.front()) : std::move(writer).block(block));
    for (std::int64_t index = 0; index < block.count; ++index)
      out.units.push_back({kind, static_cast<std::int32_t>(block.is_stem() ? -1 : block.first_index + index)});
  }
  out.units.push_back({static_cast<std::int32_t>(out.kinds.size())});
  out.kinds.push_back(head_work(std::move(parameters.back().tensors), blocks.back(), shape));
  out.buffer_elements = buffer_elements(model);
  return out;
}

}  // namespace twinstep::strategies
