#include "strategies/computation.hpp"

#include <fmt/core.h>

namespace twinstep::strategies {

using namespace program;
using enum Pass;

namespace {

constexpr std::size_t index_of(Pass pass) {
  return static_cast<std::size_t>(pass);
}

}  // namespace

Computation::Computation(StepContext& context, DataParallel& strategy)
    : context_{context},
      strategy_{strategy},
      regions_(context.model.units.size()),
      outputs_(context.model.units.size()) {
  for (auto const& unit : context.model.kinds) {
    auto& kind = kinds_.emplace_back();
    for (auto const& slot : unit.slots) kind.slots.push_back(context.program.name(slot.name));
    for (auto& is_used : kind.is_used) is_used.resize(unit.slots.size());
    kind.is_written_again.resize(unit.slots.size());
    auto const note_use = [&](Kernel const& kernel, Pass pass) {
      for (auto const& access : kernel.accesses) {
        kind.is_used[index_of(pass)][static_cast<std::size_t>(access.slot)] = true;
        if (pass == kRecompute && access.mode != AccessMode::kRead)
          kind.is_written_again[static_cast<std::size_t>(access.slot)] = true;
      }
    };
    for (auto const& kernel : unit.forward) {
      kind.forward.push_back(context.program.name(kernel.name));
      note_use(kernel, kForward);
    }
    for (auto const& kernel : unit.backward) {
      kind.backward.push_back(context.program.name(kernel.name));
      note_use(kernel, kBackward);
    }
    kind.recomputed = kernels_to_recompute(unit);
    for (auto const index : kind.recomputed) note_use(unit.forward[index], kRecompute);
  }
  for (auto const unit : context.model.units) {
    auto const name = unit_name(context.model, unit);
    scopes_[index_of(kForward)].push_back(context.program.name(name + ".forward"));
    scopes_[index_of(kBackward)].push_back(context.program.name(name + ".backward"));
    scopes_[index_of(kRecompute)].push_back(context.program.name(name + ".recompute"));
  }
}

Region Computation::new_buffer(std::size_t unit, std::size_t slot) {
  auto const& tensor = work(unit).slots[slot];
  return context_.role.whole(context_.role.buffer(
      {.name = kind(unit).slots[slot], .elements = tensor.elements, .type = tensor.type, .category = tensor.category}));
}

/// The batch's own tensors were there before the step; every micro-batch has its own.
Region Computation::data(std::size_t unit, std::size_t slot) {
  auto const& tensor = work(unit).slots[slot];
  return context_.role.whole(
      context_.role.buffer({.name = kind(unit).slots[slot],
                            .scope = context_.program.name(fmt::format("micro_batch.{}", context_.micro_step)),
                            .elements = tensor.elements,
                            .type = tensor.type,
                            .category = tensor.category,
                            .is_persistent = true}));
}

Region Computation::place(std::size_t unit, std::size_t slot, Pass pass) {
  auto const& tensor = work(unit).slots[slot];
  switch (tensor.kind) {
    case SlotKind::kInput: return outputs_[unit - 1];
    case SlotKind::kOutput: return pass == kForward ? outputs_[unit] = new_buffer(unit, slot) : outputs_[unit];
    case SlotKind::kInputGradient: return new_buffer(unit, slot);
    case SlotKind::kOutputGradient: return gradient_;
    case SlotKind::kParameter:
    case SlotKind::kParameterGradient: break;  // when a kernel comes to it
    case SlotKind::kSaved: return pass == kBackward ? regions_[unit][slot] : new_buffer(unit, slot);
    case SlotKind::kTemporary: return new_buffer(unit, slot);
    case SlotKind::kData:  // backward finds what forward used; targets come in with the loss
      return pass == kForward || !kind(unit).is_used[index_of(kForward)][slot] ? data(unit, slot)
                                                                               : regions_[unit][slot];
  }
  return {};
}

bool is_of_parameter(Slot const& slot) {
  return slot.kind == SlotKind::kParameter || slot.kind == SlotKind::kParameterGradient;
}

/// Finds or makes a place for every tensor that a pass over a unit touches, parameters and their gradients apart.
void Computation::place(std::size_t unit, Pass pass) {
  auto const& is_used = kind(unit).is_used[index_of(pass)];
  regions_[unit].resize(is_used.size());
  for (std::size_t slot = 0; slot < is_used.size(); ++slot) {
    if (!is_used[slot] || is_of_parameter(work(unit).slots[slot])) continue;
    // A saved tensor that recomputation only reads was kept: forward did not drop it.
    auto const& tensor = work(unit).slots[slot];
    auto const was_kept = pass == kRecompute && tensor.kind == SlotKind::kSaved && !kind(unit).is_written_again[slot];
    if (!was_kept) regions_[unit][slot] = place(unit, slot, pass);
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
  context_.role.enter(scopes_[index_of(kForward)][unit]);
  strategy_.before_forward(unit);
  place(unit, kForward);
  auto const& kernels = work(unit).forward;
  for (std::size_t i = 0; i < kernels.size(); ++i) emit(unit, kernels[i], kind(unit).forward[i], kForward);
  leave_module();
  strategy_.after_forward(unit);
}

void Computation::backward(std::size_t unit) {
  strategy_.before_backward(unit);
  if (is_recomputed(context_.plan, context_.model.units[unit])) {
    context_.role.enter(scopes_[index_of(kRecompute)][unit]);
    place(unit, kRecompute);
    for (auto const i : kind(unit).recomputed) emit(unit, work(unit).forward[i], kind(unit).forward[i], kRecompute);
    leave_module();
  }
  context_.role.enter(scopes_[index_of(kBackward)][unit]);
  place(unit, kBackward);
  auto const& kernels = work(unit).backward;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    auto const op = emit(unit, kernels[i], kind(unit).backward[i], kBackward);
    for (auto const tensor : context_.parameters.completed_by(unit, i))
      strategy_.gradient_is_ready(context_.parameters.at(unit, tensor), op);
  }
  leave_module();
  strategy_.after_backward(unit);
  auto const& slots = work(unit).slots;
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    if (slots[slot].kind == SlotKind::kInputGradient) gradient_ = regions_[unit][slot];
}

}  // namespace twinstep::strategies
