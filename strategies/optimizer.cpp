#include "strategies/optimizer.hpp"

namespace twinstep::strategies {

using namespace program;

OptimizerStates::OptimizerStates(StepContext& context, std::int64_t elements, MemorySpace space)
    : context_{context}, name_{context.program.name("adamw")} {
  auto const type = master_type(context.plan);
  auto const add = [&](std::string_view name) {
    return context.role.buffer({.name = context.program.name(name),
                                .elements = elements,
                                .type = type,
                                .category = MemoryCategory::kOptimizer,
                                .space = space,
                                .is_persistent = true});
  };
  if (has_master_copy(context.plan)) master_ = add("master");
  first_moment_ = add("first_moment");
  second_moment_ = add("second_moment");
}

// Weights and both moments are read and written, the gradient is read, a model copy is written: 28 bytes for fp32, and
// for fp32 masters with 16-bit gradients and copies.
OpId OptimizerStates::update(StreamId stream, std::int64_t begin, Region parameters, Region gradient) {
  auto const bytes = [&](Region const& region) { return size_of(context_.role.get(region.buffer).type).count(); };
  auto const type = master_type(context_.plan);
  auto const elements = parameters.elements;
  auto const copy_bytes = master_.exists() ? bytes(parameters) : 0;
  auto const work = Elementwise{
      .function = Function::kAdamW,
      .elements = elements,
      .bytes_per_element = static_cast<std::int32_t>(6 * size_of(type).count() + bytes(gradient) + copy_bytes),
      .type = type};
  auto const state = [&](BufferId buffer) { return updates({buffer, begin, elements}); };
  if (!master_.exists())
    return context_.role.add(stream, name_, work,
                             {updates(parameters), reads(gradient), state(first_moment_), state(second_moment_)});
  return context_.role.add(
      stream, name_, work,
      {state(master_), reads(gradient), state(first_moment_), state(second_moment_), writes(parameters)});
}

}  // namespace twinstep::strategies
