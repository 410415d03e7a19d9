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

std::unique_ptr<DataParallel> make_strategy(StepContext& context) {
  switch (context.plan.strategy) {
    case StrategyName::kNaive: return make_naive(context);
    case StrategyName::kDdp: return make_ddp(context);
    case StrategyName::kZero1: return make_zero1(context);
    case StrategyName::kZero2: return make_zero2(context);
    case StrategyName::kZero3: return make_zero3(context);
    case StrategyName::kFsdp1: return make_fsdp1(context);
    case StrategyName::kFsdp2: return make_fsdp2(context);
    case StrategyName::kDeepSpeed1:
    case StrategyName::kDeepSpeed2: return make_deepspeed1_2(context);
    case StrategyName::kDeepSpeed3: return make_deepspeed3(context);
    case StrategyName::kMegatron: return make_megatron(context);
  }
  TWINSTEP_UNREACHABLE("every strategy has its file");
}

/// The derivative of the mean squared error over the global batch, where strategies add up gradients; where they
/// average them over ranks, that over the batch of one rank.
double loss_scale(ModelSpec const& model, Plan const& plan) {
  auto const* mlp = std::get_if<Mlp>(&model);
  if (mlp == nullptr) return 1;
  auto const adds_up = plan.strategy == StrategyName::kNaive || plan.strategy == StrategyName::kZero1 ||
                       plan.strategy == StrategyName::kZero2 || plan.strategy == StrategyName::kZero3;
  auto const averaged = adds_up ? 1 : static_cast<double>(plan.ranks);
  return 2.0 * averaged / (static_cast<double>(plan.global_batch) * static_cast<double>(mlp->widths.back()));
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
  auto const strategy = make_strategy(context);
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
  if (transformer == nullptr || transformer->positions == 0 || plan.sequence_length <= transformer->positions)
    return {};
  return Infeasible{fmt::format("sequences of {} tokens exceed the model's {} learned positions", plan.sequence_length,
                                transformer->positions),
                    fmt::format("use at most {} tokens", transformer->positions)};
}

std::optional<Infeasible> find_obstacle(ModelSpec const& model, Plan const& plan) {
  if (auto const group = inner_group(plan); plan.ranks % group != 0)
    return Infeasible{fmt::format("{} ranks do not divide into groups of {}", plan.ranks, group),
                      fmt::format("use groups of {}", std::gcd(plan.ranks, group))};
  auto const samples = plan.micro_batch * plan.ranks;
  if (plan.global_batch % samples != 0)
    return Infeasible{fmt::format("a global batch of {} does not divide into micro-batches of {} on {} ranks",
                                  plan.global_batch, plan.micro_batch, plan.ranks),
                      fmt::format("use a multiple of {}, such as {}", samples, round_up(plan.global_batch, samples))};
  return find_long_sequence(model, plan);
}

ModelWork planned_work(ModelSpec const& model, Plan const& plan) {
  return work_of(model, {.micro_batch = plan.micro_batch,
                         .sequence_length = plan.sequence_length,
                         .compute_type = plan.precision,
                         .gradient_type = plan.precision,
                         .flash_attention = plan.flash_attention,
                         .loss_scale = loss_scale(model, plan),
                         .activation = plan.activation,
                         .cross_entropy = plan.cross_entropy,
                         .norms = plan.norms,
                         .linear_type = plan.linear_type,
                         .scaling = plan.scaling});
}

std::variant<StepProgram, Infeasible> compile(ModelSpec const& model, Plan const& plan) {
  if (auto const obstacle = find_obstacle(model, plan)) return *obstacle;
  auto const work = planned_work(model, plan);
  auto const parameters = Parameters{work};
  auto const groups = RankGroups{plan.ranks, inner_group(plan)};
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
  auto const micro_batches = accumulation(plan) * plan.ranks;
  auto const hardware_flops = work.model_flops_per_micro_batch + recomputed.flops();
  builder.facts() = {.tokens = work.tokens_per_micro_batch * micro_batches,
                     .model_flops = work.model_flops_per_micro_batch * static_cast<double>(micro_batches),
                     .hardware_flops = hardware_flops * static_cast<double>(micro_batches),
                     .compute_type = plan.precision};
  return std::move(builder).finish();
}

}  // namespace twinstep::strategies
