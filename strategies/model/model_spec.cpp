#include "strategies/model/model_spec.hpp"

#include <numeric>

#include "strategies/model/cnn_layout.hpp"
#include "strategies/model/transformer_layout.hpp"

namespace twinstep::strategies {
namespace {

std::vector<UnitParameters> parameters_of_each(Transformer const& model) {
  return {{"embedding", 1, embedding_tensors(model)},
          {"layer", model.layers, block_tensors(model)},
          {"head", 1, head_tensors(model)}};
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
  out.push_back({"head", 1, {{"fc.weight", model.classes, features(model)}, {"fc.bias", model.classes}}});
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
