#include "strategies/compile.hpp"

#include <numeric>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/program/builder.hpp"
#include "strategies/parts/computation.hpp"
#include "strategies/parts/recompute.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// The derivative of the mean squared error over the global batch, where strategies add up gradients; where they
/// average them over ranks, that over the batch of one rank.
double loss_scale(ModelSpec const& model, Plan const& plan) {
  auto const* mlp = std::get_if<Mlp>(&model);
  if (mlp == nullptr) return 1;
  auto const averaged = plan.strategy.traits().averages_gradients ? static_cast<double>(plan.parallel.ranks) : 1;
  return 2.0 * averaged / (static_cast<double>(plan.batch.global_batch) * static_cast<double>(mlp->widths.back()));
}

/// About how many operations a step has: the kernels, those that run again, and some communication.
std::size_t estimate_operations(ModelWork const& model, RecomputedUnits const& recomputed, Plan const& plan) {
  auto kernels = std::size_t{0};
  for (std::size_t unit = 0; unit < model.units.size(); ++unit) {
    auto const& work = model.work(model.units[unit]);
    kernels +=
        work.forward.size() + recomputed.of(unit).kernels.size() + work.backward.size() + 2 * work.parameters.size();
  }
  return kernels * static_cast<std::size_t>(accumulation(plan));
}

void write_step(StepContext& context, RecomputedUnits const& recomputed) {
  auto const strategy =
      std::visit([&](auto const& options) { return make_strategy(options, context); }, context.plan.strategy.options());
  auto computation = Computation{context, *strategy, recomputed};
  auto const units = context.model.units.size();
  for (context.micro_step = 0; context.micro_step < accumulation(context.plan); ++context.micro_step) {
    strategy->begin_micro_step();
    for (std::size_t unit = 0; unit < units; ++unit) computation.forward(unit);
    for (auto unit = units; unit-- > 0;) computation.backward(unit);
  }
  --context.micro_step;  // the update belongs to the last one
  context.role.enter({.pass = Pass::kUpdate});
  strategy->update();
}

}  // namespace

std::optional<Infeasible> find_long_sequence(ModelSpec const& model, Plan const& plan) {
  auto const* const transformer = std::get_if<Transformer>(&model);
  if (transformer == nullptr || transformer->positions == 0 || plan.batch.sequence_length <= transformer->positions)
    return {};
  return Infeasible{fmt::format("sequences of {} tokens exceed the model's {} learned positions",
                                plan.batch.sequence_length, transformer->positions),
                    fmt::format("use at most {} tokens", transformer->positions)};
}

std::optional<Infeasible> find_obstacle(ModelSpec const& model, Plan const& plan) {
  if (auto const group = inner_group(plan); plan.parallel.ranks % group != 0)
    return Infeasible{fmt::format("{} ranks do not divide into groups of {}", plan.parallel.ranks, group),
                      fmt::format("use groups of {}", std::gcd(plan.parallel.ranks, group))};
  auto const samples = plan.batch.micro_batch * plan.parallel.ranks;
  if (plan.batch.global_batch % samples != 0)
    return Infeasible{
        fmt::format("a global batch of {} does not divide into micro-batches of {} on {} ranks",
                    plan.batch.global_batch, plan.batch.micro_batch, plan.parallel.ranks),
        fmt::format("use a multiple of {}, such as {}", samples, round_up(plan.batch.global_batch, samples))};
  return find_long_sequence(model, plan);
}

ModelWork planned_work(ModelSpec const& model, Plan const& plan) {
  return work_of(model, {.micro_batch = plan.batch.micro_batch,
                         .sequence_length = plan.batch.sequence_length,
                         .compute_type = plan.kernels.precision,
                         .gradient_type = plan.kernels.precision,
                         .flash_attention = plan.kernels.flash_attention,
                         .loss_scale = loss_scale(model, plan),
                         .activation = plan.kernels.activation,
                         .cross_entropy = plan.kernels.cross_entropy,
                         .norms = plan.kernels.norms,
                         .linear_type = plan.kernels.linear_type,
                         .scaling = plan.kernels.scaling});
}

std::variant<StepProgram, Infeasible> compile(ModelSpec const& model, Plan const& plan) {
  if (auto const obstacle = find_obstacle(model, plan)) return *obstacle;
  auto const work = planned_work(model, plan);
  auto const parameters = Parameters{work};
  auto const groups = RankGroups{plan.parallel.ranks, inner_group(plan)};
  auto builder = ProgramBuilder{groups.grid()};
  auto& role = builder.role("data-parallel rank");
  auto context = StepContext{.plan = plan,
                             .model = work,
                             .parameters = parameters,
                             .program = builder,
                             .role = role,
                             .compute = role.stream("compute"),
                             .groups = groups};
  auto const recomputed = RecomputedUnits{work, plan};
  role.reserve(estimate_operations(work, recomputed, plan));
  write_step(context, recomputed);
  auto const micro_batches = accumulation(plan) * plan.parallel.ranks;
  auto const hardware_flops = work.model_flops_per_micro_batch + recomputed.flops();
  builder.facts() = {.tokens = work.tokens_per_micro_batch * micro_batches,
                     .model_flops = work.model_flops_per_micro_batch * static_cast<double>(micro_batches),
                     .hardware_flops = hardware_flops * static_cast<double>(micro_batches),
                     .compute_type = plan.kernels.precision};
  return std::move(builder).finish();
}

}  // namespace twinstep::strategies
