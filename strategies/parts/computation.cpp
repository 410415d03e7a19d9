#include "strategies/parts/computation.hpp"

namespace twinstep::strategies {

using namespace program;

namespace {

std::vector<bool> slots_used(UnitWork const& unit, std::vector<Kernel> const& kernels) {
  auto is_used = std::vector<bool>(unit.slots.size());
  for (auto const& kernel : kernels)
    for (auto const& access : kernel.accesses) is_used[static_cast<std::size_t>(access.slot)] = true;
  return is_used;
}

bool is_of_parameter(Slot const& slot) {
  return slot.kind == SlotKind::kParameter || slot.kind == SlotKind::kParameterGradient;
}

bool is_kept_kind(Slot const& slot) {
  return slot.kind == SlotKind::kSaved || slot.kind == SlotKind::kTemporary;
}

}  // namespace

Computation::Computation(StepContext& context, DataParallel& strategy, RecomputedUnits const& recomputed)
    : context_{context},
      strategy_{strategy},
      recomputed_{recomputed},
      regions_(context.model.units.size()),
      outputs_(context.model.units.size()) {
  if (context.plan.states.offload.activations) offload_.emplace(context);
  for (auto const& unit : context.model.kinds) {
    auto& kind = kinds_.emplace_back();
    for (auto const& slot : unit.slots) kind.slots.push_back(context.program.name(slot.name));
    for (auto const& kernel : unit.forward) kind.forward.push_back(context.program.name(kernel.name));
    for (auto const& kernel : unit.backward) kind.backward.push_back(context.program.name(kernel.name));
    kind.is_used_forward = slots_used(unit, unit.forward);
    kind.is_used_backward = slots_used(unit, unit.backward);
  }
  for (auto const unit : context.model.units) names_.push_back(context.program.name(unit_name(context.model, unit)));
}

Region Computation::new_buffer(std::size_t unit, std::size_t slot) {
  auto const& tensor = work(unit).slots[slot];
  return context_.role.whole(context_.role.buffer(
      {.name = kind(unit).slots[slot], .elements = tensor.elements, .type = tensor.type, .category = tensor.category}));
}

/// The batch's own tensors were there before the step; every micro-batch has its own.
Region Computation::data(std::size_t unit, std::size_t slot) {
  auto const& tensor = work(unit).slots[slot];
  return context_.role.whole(context_.role.buffer({.name = kind(unit).slots[slot],
                                                   .scope = context_.program.scope({.micro_batch = micro_batch()}),
                                                   .elements = tensor.elements,
                                                   .type = tensor.type,
                                                   .category = tensor.category,
                                                   .is_persistent = true}));
}

Region Computation::place(std::size_t unit, std::size_t slot, Pass pass) {
  auto const& tensor = work(unit).slots[slot];
  switch (tensor.kind) {
    case SlotKind::kInput: return outputs_[unit - 1];
    case SlotKind::kOutput: return pass == Pass::kForward ? outputs_[unit] = new_buffer(unit, slot) : outputs_[unit];
    case SlotKind::kInputGradient: return new_buffer(unit, slot);
    case SlotKind::kOutputGradient: return gradient_;
    case SlotKind::kParameter:
    case SlotKind::kParameterGradient: break;  // when a kernel comes to it
    case SlotKind::kSaved: return pass == Pass::kBackward ? regions_[unit][slot] : new_buffer(unit, slot);
    case SlotKind::kTemporary: return new_buffer(unit, slot);
    case SlotKind::kData:  // backward finds what forward used; targets come in with the loss
      return pass == Pass::kForward || !kind(unit).is_used_forward[slot] ? data(unit, slot) : regions_[unit][slot];
  }
  return {};
}

/// Finds or makes a place for every tensor that forward or backward of a unit touches, parameters and their gradients
/// apart.
void Computation::place(std::size_t unit, Pass pass) {
  auto const& is_used = pass == Pass::kForward ? kind(unit).is_used_forward : kind(unit).is_used_backward;
  regions_[unit].resize(is_used.size());
  for (std::size_t slot = 0; slot < is_used.size(); ++slot)
    if (is_used[slot] && !is_of_parameter(work(unit).slots[slot])) regions_[unit][slot] = place(unit, slot, pass);
}

/// A place for every tensor that forward touches when it runs again: a new one for what it makes, but for what was
/// kept.
void Computation::place_again(std::size_t unit, Recomputation const& again) {
  auto is_placed = again.kept;
  for (auto const kernel : again.kernels) {
    for (auto const& access : work(unit).forward[kernel].accesses) {
      auto const slot = static_cast<std::size_t>(access.slot);
      auto const& tensor = work(unit).slots[slot];
      if (is_placed[slot] || is_of_parameter(tensor) || tensor.kind == SlotKind::kData) continue;
      is_placed[slot] = true;
      auto& region = regions_[unit][slot];
      if (tensor.kind == SlotKind::kInput)
        region = outputs_[unit - 1];
      else if (tensor.kind == SlotKind::kOutput)
        region = outputs_[unit] = new_buffer(unit, slot);
      else
        region = new_buffer(unit, slot);
    }
  }
}

/// Tells the strategy where the kernels of one leaf module end and those of another begin.
void Computation::enter_module(std::size_t unit, Kernel const& kernel, Pass pass) {
  auto module = ModuleId{};
  for (auto const& access : kernel.accesses) {
    auto const& slot = work(unit).slots[static_cast<std::size_t>(access.slot)];
    if (module.exists() || !is_of_parameter(slot)) continue;
    module = context_.parameters.module_of(context_.parameters.behind(unit, slot));
  }
  if (module == module_) return;
  leave_module();
  module_ = module;
  pass_ = pass;
  if (module.exists()) strategy_.before_module(module, pass);
}

void Computation::leave_module() {
  if (module_.exists()) strategy_.after_module(module_, pass_);
  module_ = {};
}

OpId Computation::emit(std::size_t unit, Kernel const& kernel, NameId name, Pass pass) {
  enter_module(unit, kernel, pass);
  auto const& slots = work(unit).slots;
  auto adds = false;
  accesses_.clear();
  for (auto const& [slot, mode] : kernel.accesses) {
    auto const index = static_cast<std::size_t>(slot);
    auto const& tensor = slots[index];
    if (tensor.kind == SlotKind::kParameter) {
      accesses_.push_back({strategy_.parameter(context_.parameters.behind(unit, tensor)), mode});
      continue;
    }
    // A strategy may make room for a gradient only now, so it is asked no earlier than the first kernel that writes it.
    auto const is_gradient = tensor.kind == SlotKind::kParameterGradient;
    auto const region =
        is_gradient ? strategy_.gradient(context_.parameters.behind(unit, tensor)) : regions_[unit][index];
    auto const is_added_to = is_gradient && mode == AccessMode::kWrite && strategy_.adds_to_gradients();
    adds = adds || is_added_to;
    accesses_.push_back({region, is_added_to ? AccessMode::kReadWrite : mode});
  }
  auto const* gemm = std::get_if<Gemm>(&kernel.work);
  if (!adds || gemm == nullptr)
    return context_.role.add(context_.compute, name, kernel.work, accesses_, kernel.launches);
  auto accumulating = *gemm;
  accumulating.accumulate = true;
  return context_.role.add(context_.compute, name, accumulating, accesses_, kernel.launches);
}

void Computation::forward(std::size_t unit) {
  enter(unit, Pass::kForward);
  strategy_.before_forward(unit);
  place(unit, Pass::kForward);
  auto const& kernels = work(unit).forward;
  for (std::size_t i = 0; i < kernels.size(); ++i) emit(unit, kernels[i], kind(unit).forward[i], Pass::kForward);
  leave_module();
  strategy_.after_forward(unit);
  if (offload_) offload_->store(unit, kept_on_device(unit));
}

/// Where the tensors lie that a block keeps for its backward, its input among them.
std::vector<Region*> Computation::kept_on_device(std::size_t unit) {
  auto kept = std::vector<Region*>{};
  if (context_.model.units[unit].index < 0) return kept;
  auto const& recomputation = recomputed_.of(unit);
  auto const& slots = work(unit).slots;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    auto const is_input = slots[slot].kind == SlotKind::kInput;
    if (recomputation.kept[slot] && is_kept_kind(slots[slot])) kept.push_back(&regions_[unit][slot]);
    if (is_input && recomputation.keeps_input && recomputed_.segment_begin(unit) == unit)
      kept.push_back(&outputs_[unit - 1]);
  }
  return kept;
}

/// Brings back what the units up to `last` of its segment keep, and has what the segment before keeps on its way.
void Computation::fetch_segment(std::size_t last) {
  auto const fetch = [&](std::size_t first, std::size_t end) {
    for (auto unit = end + 1; unit-- > first;) offload_->fetch(unit, kept_on_device(unit));
  };
  auto const first = recomputed_.segment_begin(last);
  fetch(first, last);
  for (auto unit = first; unit <= last; ++unit) offload_->use(unit);
  if (first > 0) fetch(recomputed_.segment_begin(first - 1), first - 1);
}

void Computation::recompute(std::size_t unit) {
  auto const& again = recomputed_.of(unit);
  if (again.kernels.empty()) return;
  enter(unit, Pass::kRecompute);
  place_again(unit, again);
  for (auto const i : again.kernels) emit(unit, work(unit).forward[i], kind(unit).forward[i], Pass::kRecompute);
  leave_module();
}

/// The last unit's own recomputation is part of its backward; the others' parameters are there for it and go again.
void Computation::recompute_segment(std::size_t first, std::size_t last) {
  for (auto unit = first; unit < last; ++unit) {
    enter(unit, Pass::kRecompute);
    strategy_.before_forward(unit);
    recompute(unit);
    strategy_.after_forward(unit);
  }
}

void Computation::backward(std::size_t unit) {
  auto const ends_segment = recomputed_.ends_segment(unit);
  if (offload_ && ends_segment) fetch_segment(unit);
  if (ends_segment) recompute_segment(recomputed_.segment_begin(unit), unit);
  strategy_.before_backward(unit);
  if (ends_segment) recompute(unit);
  enter(unit, Pass::kBackward);
  place(unit, Pass::kBackward);
  auto const& kernels = work(unit).backward;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    auto const op = emit(unit, kernels[i], kind(unit).backward[i], Pass::kBackward);
    for (auto const tensor : context_.parameters.completed_by(unit, i))
      strategy_.gradient_is_ready(context_.parameters.at(unit, tensor), op);
  }
  leave_module();
  strategy_.after_backward(unit);
  if (offload_) offload_->after_backward();
  auto const& slots = work(unit).slots;
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    if (slots[slot].kind == SlotKind::kInputGradient) gradient_ = regions_[unit][slot];
}

}  // namespace twinstep::strategies
