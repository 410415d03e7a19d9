#include "strategies/deepspeed_checks.hpp"

#include <fmt/core.h>

#include "strategies/clipping.hpp"

namespace twinstep::strategies {

using namespace program;

namespace {

/// The squared norm of all ranks' gradients reaches the host.
void share_norm(StepContext& context, std::string_view name, Region gradients, Lane lane) {
  auto const kernel = context.name(name);
  auto const norm = context.role.whole(context.role.buffer(
      {.name = kernel, .elements = 1, .type = master_type(context.plan), .category = MemoryCategory::kWorkspace}));
  zero_kernel(context, context.compute, kernel, norm);
  auto const type = context.role.get(gradients.buffer).type;
  if (context.role.get(gradients.buffer).space == MemorySpace::kDevice)
    context.role.add(context.compute, kernel,
                     Elementwise{.function = Function::kSquaredNorm,
                                 .elements = gradients.elements,
                                 .bytes_per_element = static_cast<std::int32_t>(size_of(type).count()),
                                 .type = master_type(context.plan)},
                     {reads(gradients), updates(norm)});
  auto const known = all_reduce(context, lane, context.name(fmt::format("{}.all_reduce", name)), norm,
                                context.role.last_on(context.compute));
  context.role.host(context.name(fmt::format("{}.item", name)), std::span{&known, 1});
}

}  // namespace

void check_gradients(StepContext& context, Region gradients, Lane lane) {
  share_norm(context, "overflow", gradients, lane);
  auto const is_on_host = context.role.get(gradients.buffer).space == MemorySpace::kHost;
  if (context.plan.clips_gradients && !is_on_host)
    clip_gradients(context, gradients, lane, true);
  else
    share_norm(context, "gradient_norm", gradients, lane);
}

}  // namespace twinstep::strategies
