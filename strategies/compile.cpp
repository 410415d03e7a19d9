#include "strategies/compile.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "strategies/mesh/stages.hpp"
#include "strategies/mesh/step.hpp"
#include "strategies/plan/planned_work.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// Every rank does the same, with the whole model.
StepSpec step_of(ModelWork work, Plan const& plan, Schedule schedule) {
  auto const all = UnitRange{0, work.units.size()};
  auto groups = RankGroups{plan.parallel.data, inner_group(plan)};
  auto step = StepSpec{.grids = {groups.grid()}};
  step.model_flops_per_micro_batch = work.model_flops_per_micro_batch;
  step.roles.push_back({.name = "data-parallel rank",
                        .where = {},
                        .model = std::move(work),
                        .chunks = {{.units = all, .before = {}, .after = {}}},
                        .schedule = std::move(schedule)});
  step.sets.push_back(std::move(groups));
  return step;
}

/// What a kernel does to parameters, whose slots move to other places.
std::vector<SlotAccess> parameters_of(Kernel const& kernel, std::vector<std::int32_t> const& places) {
  auto accesses = std::vector<SlotAccess>{};
  for (auto const& access : kernel.accesses)
    if (auto const place = places[static_cast<std::size_t>(access.slot)]; place >= 0)
      accesses.push_back({place, access.mode});
  return accesses;
}

/// The kernels that touch parameters. Of two that follow each other on one parameter, the first may go if it only
/// reads.
std::vector<Kernel> hollow_kernels(std::vector<Kernel> const& kernels, std::vector<Slot> const& slots,
                                   std::vector<std::int32_t> const& places) {
  auto hollow = std::vector<Kernel>{};
  auto next = std::int32_t{-1};
  for (auto i = kernels.size(); i-- > 0;) {
    auto accesses = parameters_of(kernels[i], places);
    if (accesses.empty()) continue;
    auto const of = slots[static_cast<std::size_t>(accesses.front().slot)].parameter;
    auto const only_reads =
        std::ranges::all_of(accesses, [](SlotAccess access) { return access.mode == program::AccessMode::kRead; });
    if (only_reads && of == next) continue;
    next = of;
    hollow.push_back({.name = {},
                      .work = program::Elementwise{.family = program::KernelFamily::kModel},
                      .accesses = std::move(accesses),
                      .launches = 0});
  }
  std::ranges::reverse(hollow);
  return hollow;
}

UnitWork hollow(UnitWork unit) {
  auto slots = std::vector<Slot>{};
  auto places = std::vector<std::int32_t>{};  // by slot of the whole unit; -1 for those that are left out
  for (auto& slot : unit.slots) {
    places.push_back(is_of_parameter(slot) ? static_cast<std::int32_t>(slots.size()) : -1);
    slot.name.clear();
    if (is_of_parameter(slot)) slots.push_back(std::move(slot));
  }
  unit.slots = std::move(slots);
  unit.forward = hollow_kernels(unit.forward, unit.slots, places);
  unit.backward = hollow_kernels(unit.backward, unit.slots, places);
  return unit;
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
  auto const* const transformer = std::get_if<Transformer>(&model);
  if (transformer != nullptr && plan.parallel.model_ranks() > 1)
    if (auto obstacle = find_mesh_obstacle(*transformer, plan)) return obstacle;
  if (auto const group = inner_group(plan); plan.parallel.data % group != 0)
    return Infeasible{fmt::format("{} ranks do not divide into groups of {}", plan.parallel.data, group),
                      fmt::format("use groups of {}", std::gcd(plan.parallel.data, group))};
  auto const samples = plan.batch.micro_batch * plan.parallel.data;
  if (plan.batch.global_batch % samples != 0)
    return Infeasible{
        fmt::format("a global batch of {} does not divide into micro-batches of {} on {} ranks",
                    plan.batch.global_batch, plan.batch.micro_batch, plan.parallel.data),
        fmt::format("use a multiple of {}, such as {}", samples, round_up(plan.batch.global_batch, samples))};
  if (transformer != nullptr && plan.parallel.model_ranks() > 1)
    if (auto obstacle = find_schedule_obstacle(plan)) return obstacle;
  return find_long_sequence(model, plan);
}

std::variant<StepProgram, Infeasible> compile(ModelSpec const& model, Plan const& plan, MicroBatches written) {
  if (auto const obstacle = find_obstacle(model, plan)) return *obstacle;
  if (plan.parallel.pipeline.stages > 1) return write_step(mesh_step(std::get<Transformer>(model), plan), plan);
  auto const count = accumulation(plan);
  auto schedule =
      written == MicroBatches::kFew ? one_after_another_folded(count) : FoldedSchedule{one_after_another(count), 0, 0};
  auto step = StepSpec{};
  if (plan.parallel.tensor > 1) {
    step = mesh_step(std::get<Transformer>(model), plan);
    step.roles.front().schedule = std::move(schedule.passes);
  } else {
    step = step_of(planned_work(model, plan), plan, std::move(schedule.passes));
  }
  auto program = write_step(std::move(step), plan);
  if (schedule.left_out > 0)
    program.repeat = Repeat{static_cast<std::int32_t>(schedule.stands_for_others), schedule.left_out};
  return program;
}

ModelWork hollow_work(ModelSpec const& model, Plan const& plan) {
  auto one_sequence = plan;
  one_sequence.batch.micro_batch = 1;
  auto work = planned_work(model, one_sequence);
  for (auto& unit : work.kinds) unit = hollow(std::move(unit));
  return work;
}

StepProgram compile_around(ModelWork hollow, Plan plan) {
  plan.kernels.recompute = Recompute::kNone;
  plan.kernels.recompute_scope = {};
  plan.states.offload.activations = false;
  return write_step(step_of(std::move(hollow), plan, one_after_another(accumulation(plan))), plan);
}

}  // namespace twinstep::strategies
