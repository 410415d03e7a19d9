#include "strategies/parts/optimizer.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "strategies/parts/communication.hpp"

namespace twinstep::strategies {

using namespace program;

namespace {

/// Of one window of a paged optimizer: those of a large matrix, as its library goes from tensor to tensor.
constexpr std::int64_t kPagedElements = std::int64_t{64} << 20;

std::int32_t bytes(DataType type) {
  return static_cast<std::int32_t>(size_of(type).count());
}

Function function_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdamWFused:
    case Optimizer::kAdamWForeach:
    case Optimizer::kPagedAdamW: return Function::kAdamW;
    case Optimizer::kAdamW8Bit:
    case Optimizer::kPagedAdamW8Bit: return Function::kAdamW8Bit;
    case Optimizer::kSgdMomentum: return Function::kSgdMomentum;
    case Optimizer::kSgd: return Function::kSgd;
  }
  TWINSTEP_UNREACHABLE("every optimizer has its kernel");
}

}  // namespace

OptimizerStates::OptimizerStates(StepContext& context, std::int64_t elements, MemorySpace space, Copies copies)
    : context_{context},
      space_{space},
      copies_{copies},
      name_{context.program.name(name_of(function_of(context.plan.states.optimizer)))} {
  if (has_master_copy(context.plan)) master_ = add("master", elements, master_type(context.plan), space);
  add_states(elements);
}

void OptimizerStates::add_states(std::int64_t elements) {
  constexpr std::int64_t kBlock = 256;
  auto const optimizer = traits_of(context_.plan.states.optimizer);
  auto const wide = master_type(context_.plan);
  auto const type = optimizer.has_8_bits ? DataType::kInt8 : wide;
  auto const space = is_paged() ? MemorySpace::kHost : space_;
  if (optimizer.moments == 1) states_ = {add("momentum", elements, type, space)};
  if (optimizer.moments == 2)
    states_ = {add("first_moment", elements, type, space), add("second_moment", elements, type, space)};
  if (!optimizer.has_8_bits) return;
  auto const blocks = (elements + kBlock - 1) / kBlock;
  scales_ = {add("first_moment_scales", blocks, wide, space_), add("second_moment_scales", blocks, wide, space_)};
}

BufferId OptimizerStates::add(std::string_view name, std::int64_t elements, DataType type, MemorySpace space) {
  return context_.role.buffer({.name = context_.program.name(name),
                               .elements = elements,
                               .type = type,
                               .category = MemoryCategory::kOptimizer,
                               .space = space,
                               .is_persistent = true});
}

bool OptimizerStates::is_foreach() const {
  return context_.plan.states.optimizer == Optimizer::kAdamWForeach && space_ == MemorySpace::kDevice;
}

bool OptimizerStates::is_paged() const {
  return traits_of(context_.plan.states.optimizer).is_paged && space_ == MemorySpace::kDevice;
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
  if (is_paged()) return update_paged(stream, begin, parameters, gradients);
  auto states = std::vector<Region>{};
  for (auto const state : states_) states.push_back({state, begin, parameters.elements});
  return run(stream, begin, parameters, gradients, states);
}

/// A window at a time: in, updated, and out again.
OpId OptimizerStates::update_paged(StreamId stream, std::int64_t begin, Region parameters,
                                   std::span<Region const> gradients) {
  auto last = OpId{};
  auto const in = context_.name("optimizer.page_in");
  auto const out = context_.name("optimizer.page_out");
  for (auto gradient : gradients) {
    TWINSTEP_CHECK(!gradient.elements.varies(), "every rank pages as much");
    for (auto left = gradient.elements.base; left > 0; left -= gradient.elements.base) {
      gradient.elements = parameters.elements = std::min(left, kPagedElements);
      auto const count = gradient.elements.base;
      auto windows = std::vector<Region>{};
      for (auto const state : states_) {
        windows.push_back(context_.role.whole(context_.role.buffer({.name = in,
                                                                    .elements = count,
                                                                    .type = context_.role.get(state).type,
                                                                    .category = MemoryCategory::kOptimizer})));
        copy_between(context_, stream, in, {state, begin, count}, windows.back());
      }
      run(stream, begin, parameters, std::span{&gradient, 1}, windows);
      for (std::size_t i = 0; i < states_.size(); ++i)
        last = copy_between(context_, stream, out, windows[i], {states_[i], begin, count});
      gradient.offset.base += count;
      parameters.offset.base += count;
      begin += count;
    }
  }
  return last;
}

/// Updates the stretch with its `states`, which are on the device where the parameters are.
OpId OptimizerStates::run(StreamId stream, std::int64_t begin, Region parameters, std::span<Region const> gradients,
                          std::span<Region const> states) {
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
  if (is_foreach()) make_denominators(stream, states.back());

  auto accesses = std::vector{updates(master_.exists() ? stretch(master_) : parameters)};
  for (auto const& gradient : gradients) accesses.push_back(reads(gradient));
  for (auto const& state : states) accesses.push_back(updates(state));
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
