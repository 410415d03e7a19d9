#include "strategies/autocast.hpp"

#include "strategies/computation.hpp"

namespace twinstep::strategies {

using namespace program;

AutocastParameters::AutocastParameters(StepContext& context, FlatLayout const& layout)
    : context_{context},
      layout_{layout},
      held_{persistent_buffer(context, "parameters", layout.total(), held_type(context.plan),
                              MemoryCategory::kParameters)},
      is_casting_{held_type(context.plan) != context.plan.precision},
      name_{context.program.name("parameter.cast")},
      casts_(context.parameters.count()) {}

Region AutocastParameters::parameter(ParameterId id) const {
  auto const cast = casts_[id.index()];
  return cast.exists() ? context_.role.whole(cast) : layout_.place(held_, id);
}

void AutocastParameters::cast(std::size_t unit) {
  if (!is_casting_) return;
  for (auto const id : parameters_of(context_, unit)) {
    casts_[id.index()] = context_.role.buffer({.name = name_,
                                               .elements = context_.parameters.elements(id),
                                               .type = context_.plan.precision,
                                               .category = MemoryCategory::kWorkspace});
    copy_kernel(context_, context_.compute, name_, layout_.place(held_, id), parameter(id));
  }
}

void AutocastParameters::after_forward(std::size_t unit) {
  if (!is_casting_ || !is_recomputed(context_.plan, context_.model.units[unit])) return;
  for (auto const id : parameters_of(context_, unit)) casts_[id.index()] = {};
}

void AutocastParameters::before_backward(std::size_t unit) {
  if (is_recomputed(context_.plan, context_.model.units[unit])) cast(unit);
}

}  // namespace twinstep::strategies
