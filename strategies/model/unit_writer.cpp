#include "strategies/model/unit_writer.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace twinstep::strategies {

using program::MemoryCategory;

// The slots of tensor i and of its gradient are 2 i and 2 i + 1.
UnitWriter::UnitWriter(std::string name, std::vector<Tensor> parameters, Shape const& shape)
    : shape_{shape}, tokens_{shape.micro_batch * shape.sequence_length} {
  unit_.name = std::move(name);
  unit_.parameters = std::move(parameters);
  auto index = std::int32_t{0};
  for (auto const& tensor : unit_.parameters) {
    slot(
        {tensor.name, SlotKind::kParameter, tensor.elements(), shape.compute_type, MemoryCategory::kParameters, index});
    slot({tensor.name + ".gradient", SlotKind::kParameterGradient, tensor.elements(), shape.gradient_type,
          MemoryCategory::kGradients, index});
    ++index;
  }
}

std::int32_t UnitWriter::slot(std::string_view name, SlotKind kind, std::int64_t elements) {
  return slot({std::string{name}, kind, elements, shape_.compute_type});
}

std::int32_t UnitWriter::slot(Slot slot) {
  unit_.slots.push_back(std::move(slot));
  return static_cast<std::int32_t>(unit_.slots.size()) - 1;
}

std::int64_t UnitWriter::elements(std::int32_t slot) const {
  return unit_.slots[static_cast<std::size_t>(slot)].elements;
}

std::int32_t UnitWriter::parameter(std::string_view tensor) const {
  auto const found = std::ranges::find(unit_.parameters, tensor, &Tensor::name);
  TWINSTEP_CHECK(found != unit_.parameters.end(), "a kernel uses a parameter that its unit has");
  return 2 * static_cast<std::int32_t>(found - unit_.parameters.begin());
}

bool UnitWriter::has_parameter(std::string_view tensor) const {
  return std::ranges::find(unit_.parameters, tensor, &Tensor::name) != unit_.parameters.end();
}

void UnitWriter::forward(std::string name, program::Work const& work, Accesses accesses, std::uint32_t launches) {
  if (!std::holds_alternative<program::Gemm>(work)) {
    accesses.insert(accesses.end(), unread_biases_.begin(), unread_biases_.end());
    unread_biases_.clear();
  }
  unit_.forward.push_back({std::move(name), work, std::move(accesses), launches});
}

void UnitWriter::backward(std::string name, program::Work const& work, Accesses accesses, std::uint32_t launches) {
  unit_.backward.push_back({std::move(name), work, std::move(accesses), launches});
}

program::Elementwise UnitWriter::memory_bound(std::int64_t elements, int passes, int extra_bytes) const {
  auto const bytes = passes * static_cast<int>(size_of(shape_.compute_type).count()) + extra_bytes;
  return {program::Function::kTransformer, elements, bytes, shape_.compute_type};
}

void UnitWriter::matrix(std::string const& name, std::int32_t in, std::int32_t weight, std::int32_t out) {
  auto gemm = program::Gemm{tokens_, elements(out) / tokens_, elements(in) / tokens_};
  gemm.type = shape_.compute_type;
  gemm.transpose_b = true;
  forward(name + ".forward", gemm, {reads(in), reads(weight), writes(out)});
}

void UnitWriter::matrix_backward(std::string const& name, std::int32_t in, std::int32_t weight,
                                 std::int32_t weight_gradient, std::int32_t out_gradient, std::int32_t in_gradient) {
  auto const in_width = elements(in) / tokens_;
  auto const out_width = elements(out_gradient) / tokens_;
  if (in_gradient >= 0) {
    auto gemm = program::Gemm{tokens_, in_width, out_width};
    gemm.type = shape_.compute_type;
    backward(name + ".data_gradient", gemm, {reads(out_gradient), reads(weight), writes(in_gradient)});
  }
  auto gemm = program::Gemm{out_width, in_width, tokens_};
  gemm.type = shape_.compute_type;
  gemm.transpose_a = true;
  backward(name + ".weight_gradient", gemm, {reads(out_gradient), reads(in), writes(weight_gradient)});
}

void UnitWriter::linear(std::string const& name, std::string const& tensor, std::int32_t in, std::int32_t out) {
  matrix(name, in, parameter(tensor + ".weight"), out);
  auto const bias = tensor + ".bias";
  if (has_parameter(bias)) unread_biases_.push_back(reads(parameter(bias)));
}

void UnitWriter::linear_backward(std::string const& name, std::string const& tensor, std::int32_t in,
                                 std::int32_t out_gradient, std::int32_t in_gradient) {
  auto const weight = tensor + ".weight";
  matrix_backward(name, in, parameter(weight), gradient(weight), out_gradient, in_gradient);
  auto const bias = tensor + ".bias";
  if (!has_parameter(bias)) return;
  // A sum over the tokens: each element is read once.
  backward(name + ".bias_gradient", memory_bound(elements(out_gradient), 1),
           {reads(out_gradient), writes(gradient(bias))});
}

std::int32_t UnitWriter::norm(std::string const& name, std::string const& tensor, Norm kind, std::int32_t in,
                              std::int32_t out) {
  // Saved in fp32 for each token: the inverse deviation, and the mean of a layer norm.
  auto const numbers = kind == Norm::kLayer ? 2 : 1;
  auto const statistics = slot({name + ".statistics", SlotKind::kSaved, numbers * tokens_, DataType::kFp32});
  auto accesses = Accesses{reads(in), reads(parameter(tensor + ".weight"))};
  if (has_parameter(tensor + ".bias")) accesses.push_back(reads(parameter(tensor + ".bias")));
  accesses.push_back(writes(out));
  accesses.push_back(writes(statistics));
  forward(name + ".forward", memory_bound(elements(in), 2), std::move(accesses));
  return statistics;
}

void UnitWriter::norm_backward(std::string const& name, std::string const& tensor, std::int32_t in,
                               std::int32_t statistics, std::int32_t out_gradient, std::int32_t in_gradient) {
  // One kernel for the data (reads gradient and input, writes gradient) and one for the weights (reads both again).
  auto accesses = Accesses{reads(in),           reads(statistics),   reads(parameter(tensor + ".weight")),
                           reads(out_gradient), writes(in_gradient), writes(gradient(tensor + ".weight"))};
  if (has_parameter(tensor + ".bias")) accesses.push_back(writes(gradient(tensor + ".bias")));
  backward(name + ".backward", memory_bound(elements(in), 5), std::move(accesses), 2);
}

}  // namespace twinstep::strategies
