#include "strategies/parts/computation.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "strategies/parts/communication.hpp"

namespace twinstep::strategies {

using namespace program;

namespace {

std::vector<bool> slots_used(UnitWork const& unit, std::vector<Kernel> const& kernels) {
  auto is_used = std::vector<bool>(unit.slots.size());
  for (auto const& kernel : kernels)
    for (auto const& access : kernel.accesses) is_used[static_cast<std::size_t>(access.slot)] = true;
  return is_used;
}

Region part_of(Region region, SlotAccess const& access) {
  if (access.elements < 0) return region;
  return {region.buffer, {region.offset.base + access.begin, region.offset.variation}, access.elements};
}

bool is_kept_kind(Slot const& slot) {
  return slot.kind == SlotKind::kSaved || slot.kind == SlotKind::kTemporary;
}

}  // namespace

Computation::Computation(StepContext& context, std::span<ParameterSet const> sets, RecomputedUnits const& recomputed)
    : context_{context}, sets_{sets}, recomputed_{recomputed} {
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

void Computation::begin(UnitRange chunk, std::int64_t micro_batch) {
  auto const is_here = [&](Flight const& each) { return each.micro_batch == micro_batch && each.chunk == chunk; };
  auto const is_free = [](Flight const& each) { return each.micro_batch < 0; };
  auto found = std::ranges::find_if(flights_, is_here);
  if (found == flights_.end()) found = std::ranges::find_if(flights_, is_free);
  if (found == flights_.end()) found = flights_.emplace(flights_.end());
  flight_ = &*found;
  if (is_here(*flight_)) return;
  flight_->chunk = chunk;
  flight_->micro_batch = micro_batch;
  flight_->regions.resize(chunk.end - chunk.first);
  flight_->outputs.resize(chunk.end - chunk.first);
  TWINSTEP_CHECK(!offload_ || flights_.size() == 1, "activations of one micro-batch at a time are offloaded");
}

void Computation::end() {
  flight_->micro_batch = -1;
}

ParameterSet const& Computation::set_of(std::size_t unit, Slot const& slot) const {
  if (sets_.size() == 1) return sets_.front();
  auto const& owner = slot.owner < 0 ? work(unit) : context_.model.kinds[static_cast<std::size_t>(slot.owner)];
  auto const& tensor = owner.parameters[static_cast<std::size_t>(slot.parameter)];
  return sets_[static_cast<std::size_t>(tensor.set)];
}

Region Computation::new_buffer(std::size_t unit, std::size_t slot) {
  auto const& tensor = work(unit).slots[slot];
  return context_.role.whole(
      context_.role.buffer({.name = kind(unit).slots[slot],
                            .elements = tensor.elements,
                            .type = tensor.type,
                            .category = tensor.category,
                            .is_recorded = offload_ || context_.plan.parallel.model_ranks() == 1}));
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
    case SlotKind::kInput: return input(unit);
    case SlotKind::kOutput: return pass == Pass::kForward ? output(unit) = new_buffer(unit, slot) : output(unit);
    case SlotKind::kInputGradient: return new_buffer(unit, slot);
    case SlotKind::kOutputGradient: return flight_->gradient;
    case SlotKind::kParameter:
    case SlotKind::kParameterGradient: break;  // when a kernel comes to it
    case SlotKind::kSaved: return pass == Pass::kBackward ? regions(unit)[slot] : new_buffer(unit, slot);
    case SlotKind::kTemporary: return new_buffer(unit, slot);
    case SlotKind::kData:  // backward finds what forward used; targets come in with the loss
      return pass == Pass::kForward || !kind(unit).is_used_forward[slot] ? data(unit, slot) : regions(unit)[slot];
  }
  return {};
}

/// Finds or makes a place for every tensor that forward or backward of a unit touches, parameters and their gradients
/// apart.
void Computation::place(std::size_t unit, Pass pass) {
  auto const& is_used = pass == Pass::kForward ? kind(unit).is_used_forward : kind(unit).is_used_backward;
  auto& places = regions(unit);
  places.resize(is_used.size());
  for (std::size_t slot = 0; slot < is_used.size(); ++slot)
    if (is_used[slot] && !is_of_parameter(work(unit).slots[slot])) places[slot] = place(unit, slot, pass);
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
      auto& region = regions(unit)[slot];
      if (tensor.kind == SlotKind::kInput)
        region = input(unit);
      else if (tensor.kind == SlotKind::kOutput)
        region = output(unit) = new_buffer(unit, slot);
      else
        region = new_buffer(unit, slot);
    }
  }
}

/// Tells the strategy where the kernels of one leaf module end and those of another begin.
void Computation::enter_module(std::size_t unit, Kernel const& kernel, Pass pass) {
  auto module = ModuleId{};
  auto const* set = set_;
  for (auto const& access : kernel.accesses) {
    auto const& slot = work(unit).slots[static_cast<std::size_t>(access.slot)];
    if (module.exists() || !is_of_parameter(slot)) continue;
    set = &set_of(unit, slot);
    auto const& parameters = set->context.parameters;
    module = parameters.module_of(parameters.behind(unit, slot));
  }
  if (module == module_ && set == set_) return;
  leave_module();
  module_ = module;
  set_ = set;
  pass_ = pass;
  if (module.exists()) set->strategy.before_module(module, pass);
}

void Computation::leave_module() {
  if (module_.exists()) set_->strategy.after_module(module_, pass_);
  module_ = {};
}

/// On the group's own stream; compute waits for it where a kernel touches its tensors.
OpId Computation::communicate(UnitCollective const& collective, NameId name) {
  auto const& group = context_.group(collective.group);
  auto const sent = accesses_.front().region;
  auto const received = accesses_.back().region;
  auto const elements = std::max(sent.elements.base, received.elements.base);
  context_.role.follow(group.stream, context_.compute);
  auto const op = context_.role.add(group.stream, name,
                                    Collective{.kind = collective.kind,
                                               .reduction = collective.reduction,
                                               .type = context_.role.get(sent.buffer).type,
                                               .communicator = group.communicator,
                                               .elements = elements},
                                    sent, received);
  pending_.push_back({sent.buffer, received.buffer, op});
  return op;
}

/// Compute waits for the collectives whose tensors the operands in `accesses_` are. One that reads what a collective
/// sends need not wait.
void Computation::wait_for_collectives() {
  std::erase_if(pending_, [&](Pending const& pending) {
    auto const is_touched = std::ranges::any_of(accesses_, [&](Access const& access) {
      auto const buffer = access.region.buffer;
      return buffer == pending.to || (buffer == pending.from && access.mode != AccessMode::kRead);
    });
    if (is_touched) context_.role.wait(context_.compute, pending.by);
    return is_touched;
  });
}

void Computation::let_wait(StreamId stream, Region region) {
  context_.role.follow(stream, context_.compute);
  for (auto const& pending : pending_)
    if (pending.to == region.buffer) context_.role.wait(stream, pending.by);
}

OpId Computation::emit(std::size_t unit, Kernel const& kernel, NameId name, Pass pass) {
  enter_module(unit, kernel, pass);
  auto const& slots = work(unit).slots;
  auto const& places = regions(unit);
  auto adds = false;
  auto const access = [&](SlotAccess const& of) -> Access {
    auto const& tensor = slots[static_cast<std::size_t>(of.slot)];
    if (!is_of_parameter(tensor)) return {part_of(places[static_cast<std::size_t>(of.slot)], of), of.mode};
    auto const& [context, strategy] = set_of(unit, tensor);
    auto const id = context.parameters.behind(unit, tensor);
    if (tensor.kind == SlotKind::kParameter) return {strategy.parameter(id), of.mode};
    // A strategy may make room for a gradient only now, so it is asked no earlier than the first kernel that writes it.
    auto const region = strategy.gradient(id);
    if (of.mode != AccessMode::kWrite || !strategy.adds_to_gradients()) return {region, of.mode};
    adds = true;
    return {region, AccessMode::kReadWrite};
  };
  accesses_.clear();
  for (auto const& each : kernel.accesses) accesses_.push_back(access(each));
  if (kernel.collective) return communicate(*kernel.collective, name);
  if (!pending_.empty()) wait_for_collectives();
  if (!adds) return context_.role.add(context_.compute, name, kernel.work, accesses_, kernel.launches);
  auto work = kernel.work;
  if (auto* const gemm = std::get_if<Gemm>(&work)) gemm->accumulate = true;
  if (auto* const elementwise = std::get_if<Elementwise>(&work)) elementwise->accumulate = true;
  return context_.role.add(context_.compute, name, work, accesses_, kernel.launches);
}

void Computation::forward(std::size_t unit) {
  enter(unit, Pass::kForward);
  for (auto const& set : sets_) set.strategy.before_forward(unit);
  place(unit, Pass::kForward);
  auto const& kernels = work(unit).forward;
  for (std::size_t i = 0; i < kernels.size(); ++i) emit(unit, kernels[i], kind(unit).forward[i], Pass::kForward);
  leave_module();
  for (auto const& set : sets_) set.strategy.after_forward(unit);
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
    if (recomputation.kept[slot] && is_kept_kind(slots[slot])) kept.push_back(&regions(unit)[slot]);
    if (is_input && recomputation.keeps_input && recomputed_.segment_begin(unit) == unit) kept.push_back(&input(unit));
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
    for (auto const& set : sets_) set.strategy.before_forward(unit);
    recompute(unit);
    for (auto const& set : sets_) set.strategy.after_forward(unit);
  }
}

void Computation::backward(std::size_t unit, Gradients gradients) {
  if (gradients != Gradients::kWeight) {
    auto const ends_segment = recomputed_.ends_segment(unit);
    if (offload_ && ends_segment) fetch_segment(unit);
    if (ends_segment) recompute_segment(recomputed_.segment_begin(unit), unit);
    for (auto const& set : sets_) set.strategy.before_backward(unit);
    if (ends_segment) recompute(unit);
  }
  auto const pass = gradients == Gradients::kWeight ? Pass::kWeightGradient : Pass::kBackward;
  enter(unit, pass);
  if (pass == Pass::kBackward) place(unit, pass);
  backward_kernels(unit, gradients);
  if (gradients != Gradients::kInput) {
    for (auto const& set : sets_) set.strategy.after_backward(unit);
    if (offload_) offload_->after_backward();
  }
  if (gradients == Gradients::kWeight) return;
  auto const& slots = work(unit).slots;
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    if (slots[slot].kind == SlotKind::kInputGradient) flight_->gradient = regions(unit)[slot];
}

bool Computation::is_weight_gradient(std::size_t unit, std::size_t kernel) {
  auto& known = kinds_[static_cast<std::size_t>(context_.model.units[unit].kind)].is_weight_gradient;
  if (known.empty()) known = weight_gradient_kernels(work(unit));
  return known[kernel];
}

/// Whether a gradient is to be summed over the tensor ranks before the strategy gets it.
bool Computation::sums_now(StepContext const& context, DataParallel const& strategy, ParameterId id) {
  return context.parameters.tensor(id).has_partial_gradient &&
         strategy.partial_sums() == DataParallel::PartialSums::kEachBackward;
}

/// As DTensor sums the gradient of a norm whose tokens are shared out: in backward, by itself.
OpId Computation::sum_partial(StepContext& context, DataParallel& strategy, ParameterId id, OpId made) {
  auto const& group = context.group("tensor");
  auto const sum = all_reduce(context, {group.stream, group.communicator}, context.name("partial_gradient.all_reduce"),
                              strategy.gradient(id), made);
  context.role.wait(context.compute, sum);
  return sum;
}

void Computation::backward_kernels(std::size_t unit, Gradients gradients) {
  auto const pass = gradients == Gradients::kWeight ? Pass::kWeightGradient : Pass::kBackward;
  auto const& kernels = work(unit).backward;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (gradients != Gradients::kAll && is_weight_gradient(unit, i) != (gradients == Gradients::kWeight)) continue;
    auto const op = emit(unit, kernels[i], kind(unit).backward[i], pass);
    for (auto const& [context, strategy] : sets_)
      for (auto const tensor : context.parameters.completed_by(unit, i)) {
        auto const id = context.parameters.at(unit, tensor);
        strategy.gradient_is_ready(id, sums_now(context, strategy, id) ? sum_partial(context, strategy, id, op) : op);
      }
  }
  leave_module();
}

}  // namespace twinstep::strategies
