#include "strategies/parts/autocast.hpp"

namespace twinstep::strategies {

using namespace program;

AutocastParameters::AutocastParameters(StepContext& context, FlatLayout const& layout)
    : context_{context},
      layout_{layout},
      held_{persistent_buffer(context, "parameters", layout.total(), held_type(context.plan),
                              MemoryCategory::kParameters)},
      is_casting_{held_type(context.plan) != context.plan.kernels.precision},
      name_{context.program.name("parameter.cast")},
      casts_(context.parameters.count()),
      is_cached_(context.parameters.count()) {}

Region AutocastParameters::parameter(ParameterId id) const {
  auto const cast = casts_[id.index()];
  return cast.exists() ? context_.role.whole(cast) : layout_.place(held_, id);
}

void AutocastParameters::cast(ParameterId id) {
  casts_[id.index()] = context_.role.buffer({.name = name_,
                                             .elements = context_.parameters.elements(id),
                                             .type = context_.plan.kernels.precision,
                                             .category = MemoryCategory::kWorkspace});
  copy_kernel(context_, context_.compute, name_, layout_.place(held_, id), parameter(id));
}

void AutocastParameters::before_module(ModuleId module, Pass pass) {
  if (!is_casting_ || pass == Pass::kBackward) return;
  for (auto const id : context_.parameters.parameters_of(module)) {
    auto const is_known = pass == Pass::kForward && is_cached_[id.index()];
    if (!is_known) cast(id);
    is_cached_[id.index()] = true;
  }
}

}  // namespace twinstep::strategies
