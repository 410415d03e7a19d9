#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.hpp"
#include "strategies/model/work.hpp"

namespace twinstep::strategies {

using ParameterId = Id<struct ParameterTag>;  ///< a parameter tensor of the whole model, in registration order
using ModuleId = Id<struct ModuleTag>;        ///< a leaf module that holds parameters: a linear layer, a norm

/// The parameter tensors of one set of a model, unit by unit.
class Parameters {
 public:
  explicit Parameters(ModelWork const& model, std::int32_t set = 0);

  [[nodiscard]] std::size_t count() const { return elements_.size(); }
  [[nodiscard]] std::int64_t elements(ParameterId id) const { return elements_[id.index()]; }
  [[nodiscard]] Tensor const& tensor(ParameterId id) const {
    return model_->work(model_->units[unit_of(id)]).parameters[tensor_[id.index()]];
  }
  [[nodiscard]] std::size_t unit_of(ParameterId id) const { return unit_of_[id.index()]; }
  /// None if the tensor is of another set.
  [[nodiscard]] ParameterId at(std::size_t unit, std::int32_t tensor) const {
    return by_place_[first_of_unit_[unit] + static_cast<std::size_t>(tensor)];
  }
  /// The parameter behind a slot of `unit`, its own or another unit's that it shares; none if it is of another set.
  [[nodiscard]] ParameterId behind(std::size_t unit, Slot const& slot) const {
    return at(slot.owner < 0 ? unit : unit_of_kind_[static_cast<std::size_t>(slot.owner)], slot.parameter);
  }
  /// Whether another unit uses a parameter of `unit` too.
  [[nodiscard]] bool is_shared(std::size_t unit) const { return is_shared_[unit]; }

  [[nodiscard]] ModuleId module_of(ParameterId id) const { return module_of_[id.index()]; }
  /// Their parameters, in registration order.
  [[nodiscard]] std::span<ParameterId const> parameters_of(ModuleId module) const {
    auto const next = module.index() + 1;
    auto const first = first_of_module_[module.index()];
    auto const end = next < first_of_module_.size() ? first_of_module_[next] : ids_.size();
    return std::span{ids_}.subspan(first, end - first);
  }

  /// Parameters in the order in which backward completes their gradients.
  [[nodiscard]] std::vector<ParameterId> const& ready_order() const { return ready_order_; }
  /// The parameters whose gradient is complete after backward kernel `kernel` of `unit`.
  [[nodiscard]] std::vector<std::int32_t> const& completed_by(std::size_t unit, std::size_t kernel) const {
    return completed_by_[static_cast<std::size_t>(model_->units[unit].kind)][kernel];
  }

 private:
  ModelWork const* model_;
  std::vector<std::int64_t> elements_;
  std::vector<std::size_t> unit_of_;
  std::vector<std::size_t> tensor_;         // its place among the tensors of its unit
  std::vector<ParameterId> by_place_;       // by tensor of the whole model, of any set
  std::vector<std::size_t> first_of_unit_;  // in `by_place_`
  std::vector<std::size_t> unit_of_kind_;   // the first of each kind
  std::vector<bool> is_shared_;
  std::vector<ModuleId> module_of_;
  std::vector<std::size_t> first_of_module_;
  std::vector<ParameterId> ids_;  // all of them
  std::vector<ParameterId> ready_order_;
  std::vector<std::vector<std::vector<std::int32_t>>> completed_by_;  // by kind, then kernel: tensors
};

}  // namespace twinstep::strategies
