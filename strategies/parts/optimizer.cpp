#include "strategies/parts/optimizer.hpp"

#include "sim/base/check.hpp"
#include "strategies/parts/communication.hpp"

namespace twinstep::strategies {

using namespace program;

namespace {

std::int32_t bytes(DataType type) {
  return static_cast<std::int32_t>(size_of(type).count());
}

Function function_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdamWFused:
    case Optimizer::kAdamWForeach: return Function::kAdamW;
    case Optimizer::kAdamW8Bit: return Function::kAdamW8Bit;
    case Optimizer::kSgdMomentum: return Function::kSgdMomentum;
  }
  TWINSTEP_UNREACHABLE("every optimizer has its kernel");
}

}  // namespace

OptimizerStates::OptimizerStates(StepContext& context, std::int64_t elements, MemorySpace space, Copies copies)
    : context_{context},
      space_{space},
      copies_{copies},
      name_{context.program.name(name_of(function_of(context.plan.states.optimizer)))} {
  if (has_master_copy(context.plan)) master_ = add("master", elements, master_type(context.plan));
  add_states(elements);
}

void OptimizerStates::add_states(std::int64_t elements) {
  constexpr std::int64_t kBlock = 256;
  auto const type = master_type(context_.plan);
  if (context_.plan.states.optimizer == Optimizer::kSgdMomentum) {
    states_ = {add("momentum", elements, type)};
  } else if (context_.plan.states.optimizer == Optimizer::kAdamW8Bit) {
    auto const blocks = (elements + kBlock - 1) / kBlock;
    states_ = {add("first_moment", elements, DataType::kInt8), add("second_moment", elements, DataType::kInt8)};
    scales_ = {add("first_moment_scales", blocks, type), add("second_moment_scales", blocks, type)};
  } else {
    states_ = {add("first_moment", elements, type), add("second_moment", elements, type)};
  }
}

BufferId OptimizerStates::add(std::string_view name, std::int64_t elements, DataType type) {
  return context_.role.buffer({.name = context_.program.name(name),
                               .elements = elements,
                               .type = type,
                               .category = MemoryCategory::kOptimizer,
                               .space = space_,
                               .is_persistent = true});
}

bool OptimizerStates::is_foreach() const {
  return context_.plan.states.optimizer == Optimizer::kAdamWForeach && space_ == MemorySpace::kDevice;
}

std::int32_t OptimizerStates::bytes_per_element(Region parameters, DataType gradient) const {
  auto const master = bytes(master_type(context_.plan));
  auto const writes_copy = master_.exists() && copies_ == Copies::kInUpdate;
  auto const copy = writes_copy ? bytes(context_.role.get(parameters.buffer).type) : 0;
  if (is_foreach()) {
    // The passes that OptimizerStates lists but those that are kernels of their own, sqrt and an add_ that is not in
    // place: 16 (14) tensors of the master's type and twice the gradient; a copy is a pass more.
    auto const masters = context_.plan.states.has_old_foreach ? 14 : 16;
    return masters * master + 2 * bytes(gradient) + (writes_copy ? master + copy : 0);
  }
  auto sum = 2 * master + bytes(gradient) + copy;
  for (auto const state : states_) sum += 2 * bytes(context_.role.get(state).type);
  return sum;
}

/// Gradients in the master's type, each a tensor of its own.
std::vector<Region> OptimizerStates::cast(StreamId stream, std::span<Region const> gradients) {
  auto const name = context_.program.name("gradient.cast");
  auto out = std::vector<Region>{};
  for (auto const& gradient : gradients) {
    out.push_back(context_.role.whole(context_.role.buffer({.name = name,
                                                            .elements = gradient.elements,
                                                            .type = master_type(context_.plan),
                                                            .category = MemoryCategory::kWorkspace})));
    copy_kernel(context_, stream, name, gradient, out.back());
  }
  return out;
}

/// The temporary of the foreach passes: √v, then √(v / correction) + epsilon, in place or in a second one.
void OptimizerStates::make_denominators(StreamId stream, Region second_moment) {
  auto const make = [&](NameId name, Region from) {
    auto const to = context_.role.whole(context_.role.buffer({.name = name,
                                                              .elements = from.elements,
                                                              .type = master_type(context_.plan),
                                                              .category = MemoryCategory::kWorkspace}));
    copy_kernel(context_, stream, name, from, to, 1, multi_tensor_launches(from.elements.base, 1));
    return to;
  };
  auto const roots = make(context_.program.name("adamw.denominators"), second_moment);
  if (context_.plan.states.has_old_foreach) make(context_.program.name("adamw.denominators.add"), roots);
}

OpId OptimizerStates::update(StreamId stream, std::int64_t begin, Region parameters,
                             std::span<Region const> gradients) {
  auto const elements = parameters.elements;
  auto const stretch = [&](BufferId buffer) { return Region{buffer, begin, elements}; };
  auto const launches = multi_tensor_launches(elements.base, gradients.size());
  auto type = context_.role.get(gradients.front().buffer).type;
  auto cast_gradients = std::vector<Region>{};
  if (is_foreach() && size_of(type) < size_of(master_type(context_.plan))) {
    cast_gradients = cast(stream, gradients);
    gradients = cast_gradients;
    type = master_type(context_.plan);
  }
  if (is_foreach()) make_denominators(stream, stretch(states_.back()));

  auto accesses = std::vector{updates(master_.exists() ? stretch(master_) : parameters)};
  for (auto const& gradient : gradients) accesses.push_back(reads(gradient));
  for (auto const state : states_) accesses.push_back(updates(stretch(state)));
  for (auto const scales : scales_) accesses.push_back(updates(context_.role.whole(scales)));
  auto const copies_apart = master_.exists() && copies_ == Copies::kApart;
  if (master_.exists() && !copies_apart) accesses.push_back(writes(parameters));
  constexpr std::uint32_t kOtherPasses = 7;
  auto const updated = context_.role.add(stream, name_,
                                         Elementwise{.function = function_of(context_.plan.states.optimizer),
                                                     .elements = elements,
                                                     .bytes_per_element = bytes_per_element(parameters, type),
                                                     .type = master_type(context_.plan)},
                                         accesses, is_foreach() ? kOtherPasses * launches : launches);
  if (!copies_apart) return updated;
  return copy_kernel(context_, stream, context_.name("parameters.from_masters"), stretch(master_), parameters);
}

}  // namespace twinstep::strategies
