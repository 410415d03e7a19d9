#include "explore/plan/strategy_terms.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

#include "explore/plan/few_layers.hpp"
#include "explore/plan/program_sheet.hpp"
#include "explore/plan/work_terms.hpp"
#include "sim/base/check.hpp"
#include "strategies/compile.hpp"

namespace twinstep::explore::plan {
namespace {

using strategies::ModelSpec;
using strategies::Plan;
using strategies::Transformer;

HeldMemory operator+(HeldMemory const& a, HeldMemory const& b) {
  return {a.always + b.always, a.at_turn + b.at_turn, a.at_most + b.at_most,
          a.casts + b.casts,   a.on_host + b.on_host, a.on_nvme + b.on_nvme};
}
HeldMemory operator*(HeldMemory const& a, double factor) {
  return {a.always * factor, a.at_turn * factor, a.at_most * factor,
          a.casts * factor,  a.on_host * factor, a.on_nvme * factor};
}

/// `a` at depth kShallow and `b` at kDeeper, taken on along a straight line to a depth that is `steps` times the
/// distance behind the first.
template <class Linear>
Linear on_line(Linear const& a, Linear const& b, double steps) {
  return a * (1 - steps) + b * steps;
}

/// What the strategy adds to steps of one and of two micro-batches of one sequence.
struct OneAndTwo {
  ProgramSums one;
  ProgramSums two;
};

/// With one sequence at a time, of which everything is kept.
Plan plainest(Plan plan) {
  plan.batch.micro_batch = 1;
  plan.kernels.recompute = strategies::Recompute::kNone;
  plan.kernels.recompute_scope = {};
  plan.states.offload.activations = false;
  return plan;
}

OneAndTwo added_by_strategy(ModelSpec const& model, Plan plan, engine::Machine const& machine, Sheet const& own,
                            CollectiveTimes& known) {
  auto const added = [&](std::int64_t micro_batches) {
    plan.batch.global_batch = plan.parallel.ranks * micro_batches;
    auto const compiled = strategies::compile(model, plan);
    TWINSTEP_CHECK(std::holds_alternative<program::StepProgram>(compiled), "ranks and groups were checked");
    auto sums = add_up(std::get<program::StepProgram>(compiled), machine, known);
    sums.sheet = sums.sheet - own * static_cast<double>(micro_batches);
    return sums;
  };
  return {added(1), added(2)};
}

/// Elements that are updated together.
std::int64_t sub_group_size(Plan const& plan) {
  auto const* const deepspeed = plan.strategy.get_if<strategies::DeepSpeedOptions>();
  return deepspeed != nullptr ? deepspeed->sub_group_size : strategies::DeepSpeedOptions{}.sub_group_size;
}

ProgramSums to_depth(ProgramSums const& shallow, ProgramSums const& deeper, std::int64_t layers, Plan const& plan) {
  auto const steps = static_cast<double>(layers - kShallow) / (kDeeper - kShallow);
  auto held = on_line(shallow.held, deeper.held, steps);
  // What does not pile up is a few layers or buckets, however many there are, so a few layers tell the least.
  if (!plan.strategy.traits().piles_up)
    std::tie(held.at_turn, held.at_most) = std::pair{deeper.held.at_turn, deeper.held.at_most};
  return {on_line(shallow.sheet, deeper.sheet, steps), held, std::max(shallow.held_sms, deeper.held_sms)};
}

/// The same of the whole model, by a few of its layers where there are many.
OneAndTwo added_to_whole(ModelSpec const& model, Plan const& plan, engine::Machine const& machine, OwnWork const& own) {
  auto known = CollectiveTimes{};
  auto const* const transformer = many_layers(model);
  if (transformer == nullptr) return added_by_strategy(model, plan, machine, own.deeper, known);
  auto const shallow = added_by_strategy(with_layers(*transformer, kShallow), plan, machine, own.shallow, known);
  auto const deeper = added_by_strategy(with_layers(*transformer, kDeeper), plan, machine, own.deeper, known);
  return {to_depth(shallow.one, deeper.one, transformer->layers, plan),
          to_depth(shallow.two, deeper.two, transformer->layers, plan)};
}

}  // namespace

OwnWork own_work(ModelSpec const& model, Plan const& plan, engine::Machine const& machine) {
  auto const of = [&](ModelSpec const& some) { return work_terms(some, plainest(plan), machine).sheet; };
  auto const* const transformer = many_layers(model);
  if (transformer == nullptr) return {of(model), of(model)};
  return {of(with_layers(*transformer, kShallow)), of(with_layers(*transformer, kDeeper))};
}

StrategyTerms strategy_terms(ModelSpec const& model, Plan const& plan, engine::Machine const& machine,
                             OwnWork const& own) {
  auto const [one, two] = added_to_whole(model, plainest(plan), machine, own);
  return {.last = one.sheet.clamped(),
          .earlier = (two.sheet - one.sheet).clamped(),
          .once = one.held,
          .repeated = two.held,
          .held_sms = static_cast<double>(std::max(one.held_sms, two.held_sms)),
          .sub_groups = divide_up(divide_up(parameter_count(model), plan.parallel.ranks), sub_group_size(plan))};
}

}  // namespace twinstep::explore::plan
