#include "strategies/model/unit_writer.hpp"

#include <algorithm>
#include <limits>
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
  unit_.forward.push_back({std::move(name), work, std::move(accesses), launches});
}

void UnitWriter::backward(std::string name, program::Work const& work, Accesses accesses, std::uint32_t launches) {
  unit_.backward.push_back({std::move(name), work, std::move(accesses), launches});
}

void UnitWriter::forward(std::string name, UnitCollective collective, Accesses accesses) {
  unit_.forward.push_back({std::move(name), program::Communication{}, std::move(accesses), 1, std::move(collective)});
}

void UnitWriter::backward(std::string name, UnitCollective collective, Accesses accesses) {
  unit_.backward.push_back({std::move(name), program::Communication{}, std::move(accesses), 1, std::move(collective)});
}

program::Elementwise UnitWriter::memory_bound(program::Function function, std::int64_t elements, int passes,
                                              int extra_bytes) const {
  auto const bytes = passes * static_cast<int>(size_of(shape_.compute_type).count()) + extra_bytes;
  // Rows of sequences that no memory holds are not described.
  if (shape_.sequence_length > std::numeric_limits<std::int32_t>::max()) function = program::Function::kCostOnly;
  return {function, elements, bytes, shape_.compute_type, program::KernelFamily::kModel};
}

}  // namespace twinstep::strategies
