#include "strategies/compile.hpp"

#include <numeric>

#include <fmt/core.h>

#include "strategies/mesh/step.hpp"

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

/// Every rank does the same, with the whole model.
StepSpec step_of(ModelSpec const& model, Plan const& plan, Schedule schedule) {
  auto work = planned_work(model, plan);
  auto const all = UnitRange{0, work.units.size()};
  auto groups = RankGroups{plan.parallel.ranks, inner_group(plan)};
  auto step = StepSpec{.grids = {groups.grid()}};
  step.model_flops_per_micro_batch = work.model_flops_per_micro_batch;
  step.roles.push_back(
      {.name = "data-parallel rank", .model = std::move(work), .chunks = {all}, .schedule = std::move(schedule)});
  step.sets.push_back(std::move(groups));
  return step;
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

std::variant<StepProgram, Infeasible> compile(ModelSpec const& model, Plan const& plan, MicroBatches written) {
  if (auto const obstacle = find_obstacle(model, plan)) return *obstacle;
  auto const count = accumulation(plan);
  auto schedule =
      written == MicroBatches::kFew ? one_after_another_folded(count) : FoldedSchedule{one_after_another(count), 0, 0};
  auto program = write_step(step_of(model, plan, std::move(schedule.passes)), plan);
  if (schedule.left_out > 0)
    program.repeat = Repeat{static_cast<std::int32_t>(schedule.stands_for_others), schedule.left_out};
  return program;
}

StepProgram compile_states(ModelSpec const& model, Plan const& plan) {
  return write_states(step_of(model, plan, {}), plan);
}

}  // namespace twinstep::strategies
