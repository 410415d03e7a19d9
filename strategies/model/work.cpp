#include "strategies/model/work.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {
namespace {

Flops sum_of(std::vector<Kernel> const& kernels) {
  auto sum = Flops{};
  for (auto const& kernel : kernels) sum += program::flops_of(kernel.work);
  return sum;
}

double flops_per_token(Transformer const& model, Shape const& shape, ModelWork const&) {
  auto const attention = 12.0 * static_cast<double>(model.layers) * static_cast<double>(model.query_width()) *
                         static_cast<double>(shape.sequence_length);
  return 6.0 * static_cast<double>(parameter_count(model)) + attention;
}

double flops_per_token(Mlp const& model, Shape const&, ModelWork const&) {
  return 6.0 * static_cast<double>(parameter_count(model));
}

double flops_per_token(Cnn const&, Shape const&, ModelWork const& work) {
  auto forward = Flops{};
  for (auto const unit : work.units) forward += sum_of(work.work(unit).forward);
  return 3 * forward.count() / static_cast<double>(work.tokens_per_micro_batch);
}

}  // namespace

ModelWork work_of(ModelSpec const& model, Shape const& shape) {
  TWINSTEP_CHECK(shape.micro_batch >= 1 && shape.sequence_length >= 1, "a micro-batch has tokens");
  auto out = std::visit([&](auto const& m) { return units_of(m, shape); }, model);
  out.tokens_per_micro_batch = shape.micro_batch * shape.sequence_length;
  auto const per_token = std::visit([&](auto const& m) { return flops_per_token(m, shape, out); }, model);
  out.model_flops_per_micro_batch = Flops{per_token * static_cast<double>(out.tokens_per_micro_batch)};
  return out;
}

// From the last kernel to the first: a slot is needed once a kernel that is no weight gradient's reads it.
std::vector<bool> weight_gradient_kernels(UnitWork const& unit) {
  auto is_needed = std::vector<bool>(unit.slots.size());
  for (std::size_t i = 0; i < unit.slots.size(); ++i) is_needed[i] = unit.slots[i].kind == SlotKind::kInputGradient;
  auto out = std::vector<bool>(unit.backward.size());
  for (auto i = unit.backward.size(); i-- > 0;) {
    auto const& accesses = unit.backward[i].accesses;
    out[i] = std::ranges::none_of(accesses, [&](SlotAccess access) {
      return access.mode != program::AccessMode::kRead && is_needed[static_cast<std::size_t>(access.slot)];
    });
    if (out[i]) continue;
    for (auto const& access : accesses) is_needed[static_cast<std::size_t>(access.slot)] = true;
  }
  return out;
}

std::string unit_name(ModelWork const& model, UnitRef unit) {
  auto const& name = model.work(unit).name;
  return unit.index < 0 ? name : name + "." + std::to_string(unit.index);
}

UnitFlops flops_of(UnitWork const& unit) {
  auto out = UnitFlops{sum_of(unit.forward), sum_of(unit.backward), {}};
  for (auto const kernel : kernels_to_recompute(unit)) out.recompute += program::flops_of(unit.forward[kernel].work);
  return out;
}

std::vector<std::size_t> kernels_to_recompute(UnitWork const& unit) {
  return kernels_to_recompute(unit, std::vector<bool>(unit.slots.size()));
}

// Walk forward's kernels from the last to the first. A kernel runs if it writes something needed and not kept: a saved
// tensor, or what a kernel that runs reads.
std::vector<std::size_t> kernels_to_recompute(UnitWork const& unit, std::vector<bool> const& kept) {
  auto is_needed = std::vector<bool>(unit.slots.size());
  for (std::size_t i = 0; i < unit.slots.size(); ++i) is_needed[i] = unit.slots[i].kind == SlotKind::kSaved;
  auto out = std::vector<std::size_t>{};
  for (auto i = unit.forward.size(); i-- > 0;) {
    auto const& accesses = unit.forward[i].accesses;
    auto const makes_needed = [&](SlotAccess access) {
      auto const slot = static_cast<std::size_t>(access.slot);
      return access.mode != program::AccessMode::kRead && is_needed[slot] && !kept[slot];
    };
    if (!std::ranges::any_of(accesses, makes_needed)) continue;
    for (auto const& access : accesses) is_needed[static_cast<std::size_t>(access.slot)] = true;
    out.push_back(i);
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace twinstep::strategies
