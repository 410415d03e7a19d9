#include "strategies/parts/parameters.hpp"

#include <algorithm>
#include <string_view>

namespace twinstep::strategies {
namespace {

/// For each backward kernel, the unit's own tensors of the set whose gradient no later kernel touches.
std::vector<std::vector<std::int32_t>> completed_by_kernel(UnitWork const& unit, std::int32_t set) {
  auto completed = std::vector<std::vector<std::int32_t>>(unit.backward.size());
  auto is_done = std::vector<bool>(unit.parameters.size());
  for (auto kernel = unit.backward.size(); kernel-- > 0;) {
    for (auto const& access : unit.backward[kernel].accesses) {
      auto const& slot = unit.slots[static_cast<std::size_t>(access.slot)];
      if (slot.kind != SlotKind::kParameterGradient || slot.owner >= 0) continue;
      auto const tensor = static_cast<std::size_t>(slot.parameter);
      if (is_done[tensor] || unit.parameters[tensor].set != set) continue;
      is_done[tensor] = true;
      completed[kernel].push_back(slot.parameter);
    }
  }
  return completed;
}

/// "self_attn.q_proj" of "self_attn.q_proj.weight".
std::string_view module_name(Tensor const& tensor) {
  return std::string_view{tensor.name}.substr(0, tensor.name.rfind('.'));
}

}  // namespace

Parameters::Parameters(ModelWork const& model, std::int32_t set)
    : model_{&model}, unit_of_kind_(model.kinds.size()), is_shared_(model.units.size()) {
  for (auto const& kind : model.kinds) completed_by_.push_back(completed_by_kernel(kind, set));
  for (auto unit = model.units.size(); unit-- > 0;)
    unit_of_kind_[static_cast<std::size_t>(model.units[unit].kind)] = unit;
  for (std::size_t unit = 0; unit < model.units.size(); ++unit) {
    first_of_unit_.push_back(by_place_.size());
    auto const& work = model.work(model.units[unit]);
    Tensor const* before = nullptr;
    for (std::size_t i = 0; i < work.parameters.size(); ++i) {
      auto const& tensor = work.parameters[i];
      by_place_.push_back(tensor.set == set ? ParameterId{ids_.size()} : ParameterId{});
      if (tensor.set != set) continue;
      if (before == nullptr || module_name(tensor) != module_name(*before)) first_of_module_.push_back(ids_.size());
      before = &tensor;
      tensor_.push_back(i);
      ids_.emplace_back(ids_.size());
      module_of_.emplace_back(first_of_module_.size() - 1);
      elements_.push_back(tensor.elements());
      unit_of_.push_back(unit);
    }
    for (auto const& slot : work.slots)
      if (slot.owner >= 0) is_shared_[unit_of_kind_[static_cast<std::size_t>(slot.owner)]] = true;
  }
  for (auto unit = model.units.size(); unit-- > 0;)
    for (auto const& tensors : completed_by_[static_cast<std::size_t>(model.units[unit].kind)])
      for (auto const tensor : tensors) ready_order_.push_back(at(unit, tensor));
}

}  // namespace twinstep::strategies
