#include "strategies/deepspeed/checks.hpp"

#include <fmt/core.h>

#include "strategies/parts/clipping.hpp"

namespace twinstep::strategies {

using namespace program;

namespace {

/// A number of each rank is summed over all, and the host waits for it.
void share(StepContext& context, std::string_view name, Region number, Lane lane) {
  auto const known = all_reduce(context, lane, context.name(fmt::format("{}.all_reduce", name)), number,
                                context.role.last_on(context.compute));
  context.role.host(context.name(fmt::format("{}.item", name)), std::span{&known, 1});
}

/// A pass over the gradients, and its result at the host.
void look_through(StepContext& context, std::string_view name, Region gradients, Lane lane) {
  auto const kernel = context.name(name);
  auto const number = squared_norm(context, kernel);
  zero_kernel(context, context.compute, kernel, number);
  add_squares(context, context.compute, kernel, std::span{&gradients, 1}, number);
  share(context, name, number, lane);
}

}  // namespace

void check_gradients(StepContext& context, Region gradients, Lane lane) {
  look_through(context, "overflow", gradients, lane);
  if (context.plan.states.clips_gradients) return clip_gradients(context, gradients, lane, true);
  look_through(context, "gradient_norm", gradients, lane);
  scale_kernel(context, context.compute, context.name("gradient.unscale"), gradients, 1);
}

void share_host_checks(StepContext& context, HostChecks const& checks, Lane lane) {
  share(context, "overflow", checks.overflow, lane);
  share(context, "gradient_norm", checks.norm, lane);
}

}  // namespace twinstep::strategies
