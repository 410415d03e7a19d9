#include "explore/plan/planner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "explore/plan/cluster_search.hpp"
#include "explore/plan/what_if.hpp"
#include "reports/job_text.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore::plan {
namespace {

using reports::GpuCount;
using reports::gpus_text;
using reports::PlannedStep;
using reports::Plans;
using reports::whole_text;

/// Where no number of GPUs that was asked for can be searched there is no answer, only what could be asked.
void check_counts(std::vector<ClusterSearch> const& searches) {
  auto reasons = std::vector<std::string>{};
  for (auto const& search : searches) {
    if (!search.asked().searched.empty()) return;
    for (auto const& [gpus, reason] : search.asked().refused)
      reasons.push_back(fmt::format("{}: {}", gpus_text(gpus), reason));
  }
  throw InputError{fmt::format("--gpus: {}", fmt::join(reasons, "; "))};
}

/// A job that failures hardly let go on has no end to plan for.
void check_goodput(std::vector<PlannedStep> const& plans) {
  for (auto const& plan : plans)
    if (plan.job && reports::is_lost(*plan.job)) throw InputError{lost_job_text(plan)};
}

bool reaches_goal(PlannedStep const& plan, reports::Goal const& goal) {
  return !plan.job || !reports::misses_of(*plan.job, goal).any();
}

double cost_of(PlannedStep const& plan) {
  return plan.job->cost ? plan.job->cost->amount : plan.job->gpu_hours;
}

/// Those that reach the goal first; among them the cheapest where there is a deadline, else the fastest.
void rank(Plans& plans) {
  auto const by_cost = plans.goal.deadline && std::ranges::any_of(plans.plans, [&](PlannedStep const& plan) {
                         return reaches_goal(plan, plans.goal);
                       });
  plans.ranked_by = by_cost ? "cost, those that reach the goal first" : plans.goal.tokens ? "time" : "step time";
  auto const is_before = [&](PlannedStep const& a, PlannedStep const& b) {
    auto const [reaches_a, reaches_b] = std::pair{reaches_goal(a, plans.goal), reaches_goal(b, plans.goal)};
    if (reaches_a != reaches_b) return reaches_a;
    if (by_cost && reaches_a && cost_of(a) != cost_of(b)) return cost_of(a) < cost_of(b);
    if (a.job) return a.job->time < b.job->time;
    return a.step_time < b.step_time;
  };
  std::ranges::stable_sort(plans.plans, is_before);
}

std::string deadline_verdict(Plans const& plans, PlannedStep const& fastest) {
  auto text = fmt::format("No plan meets the deadline of {}: the fastest needs {} on {}",
                          reports::long_time_text(*plans.goal.deadline), reports::long_time_text(fastest.job->time),
                          gpus_text(fastest.gpus));
  for (auto const& each : plans.minimum) {
    text += each.meet_deadline ? fmt::format("; {} would do", gpus_text(each.meet_deadline->gpus))
                               : fmt::format("; no number of GPUs up to {} would do", whole_text(each.most));
    if (each.soonest)
      text += fmt::format(", the soonest is {} on {}", reports::long_time_text(each.soonest->time),
                          whole_text(each.soonest->gpus));
    if (plans.minimum.size() > 1) text += fmt::format(" ({})", each.cluster);
  }
  return text + ".";
}

std::string budget_verdict(reports::Money const& budget, PlannedStep const& cheapest) {
  return fmt::format("No plan stays within {}: the cheapest costs {} on {}.", reports::money_text(budget),
                     reports::money_text(*cheapest.job->cost), gpus_text(cheapest.gpus));
}

std::string energy_verdict(double most_kwh, PlannedStep const& thriftiest) {
  return fmt::format("No plan stays within {}: the thriftiest takes {} on {}.", reports::energy_text(most_kwh),
                     reports::energy_text(*thriftiest.job->energy_kwh), gpus_text(thriftiest.gpus));
}

std::string memory_verdict(Plans const& plans) {
  auto const& nearest = plans.rejected.front();
  auto text = fmt::format("No plan fits on {}: {} {}", gpus_text(nearest.gpus), nearest.strategy, nearest.reason);
  for (auto const& each : plans.minimum)
    if (each.fit) text += fmt::format("; {} of {} would do", gpus_text(each.fit->gpus), each.cluster);
  return text + ".";
}

/// Why the goal is missed, if no plan reaches it: each limit that even the best plan for it is beyond.
void judge(Plans& plans) {
  if (plans.plans.empty()) {
    if (!plans.rejected.empty()) plans.verdict.push_back(memory_verdict(plans));
    return;
  }
  if (reaches_goal(plans.plans.front(), plans.goal)) return;
  auto const fastest =
      *std::ranges::min_element(plans.plans, {}, [](PlannedStep const& plan) { return plan.job->time; });
  auto const cheapest = *std::ranges::min_element(plans.plans, {}, cost_of);
  auto const thriftiest =
      *std::ranges::min_element(plans.plans, {}, [](PlannedStep const& plan) { return plan.job->energy_kwh; });
  if (reports::misses_of(*fastest.job, plans.goal).late) plans.verdict.push_back(deadline_verdict(plans, fastest));
  if (reports::misses_of(*cheapest.job, plans.goal).over_budget)
    plans.verdict.push_back(budget_verdict(*plans.goal.budget, cheapest));
  if (reports::misses_of(*thriftiest.job, plans.goal).over_energy_kwh)
    plans.verdict.push_back(energy_verdict(*plans.goal.most_energy_kwh, thriftiest));
  if (plans.verdict.empty())
    plans.verdict.emplace_back("No plan reaches all limits together: see the front of time and cost.");
}

void add_search(ClusterSearch& search, std::size_t of_each, Plans& plans) {
  auto const& name = search.base().cluster->name;
  for (auto const gpus : search.asked().searched) {
    auto found = search.plans_on(gpus, of_each);
    check_goodput(found);
    auto rejected = search.rejected_on(gpus);
    auto reason = found.empty() && !rejected.empty()
                      ? fmt::format("{} {}", rejected.front().strategy, rejected.front().brief)
                      : "";
    plans.counts.push_back({name, gpus, std::nullopt, std::move(reason)});
    std::ranges::move(found, std::back_inserter(plans.plans));
    std::ranges::move(rejected, std::back_inserter(plans.rejected));
  }
  for (auto const& [gpus, reason] : search.asked().refused) plans.counts.push_back({name, gpus, std::nullopt, reason});
  for (auto const& [gpus, batch] : search.asked().others) plans.other_batches.push_back({name, gpus, batch});
  plans.minimum.push_back(search.minimum());
  plans.configurations += search.configurations();
  plans.simulations += search.simulations();
  if (search.price()) plans.prices.push_back(*search.price());
}

/// Requires ranked plans.
void answer_counts(Plans& plans) {
  std::ranges::stable_sort(plans.counts, {}, &GpuCount::gpus);
  for (auto& count : plans.counts)
    for (auto const& plan : plans.plans)
      if (!count.best && plan.cluster == count.cluster && plan.gpus == count.gpus) count.best = plan;
}

/// How many plans of each strategy are looked for.
std::size_t plans_of_each(PlanQuestion const& asked, std::vector<ClusterSearch> const& searches) {
  auto counts = std::size_t{0};
  for (auto const& search : searches) counts += search.asked().searched.size();
  if (counts > 1) return 1;
  return asked.strategies.empty() ? 2 : asked.top;
}

}  // namespace

reports::Plans make_plans(PlanQuestion const& asked, std::function<void()> const& progress) {
  auto searches = searches_of(asked, progress);
  check_counts(searches);
  auto what_ifs = WhatIfs{asked, progress};
  auto const& first = searches.front();
  auto plans =
      Plans{.model = std::string{model_name(first.base().model)},
            .scenario = asked.scenario.name(),
            .changes = asked.scenario.changes,
            .headroom = asked.headroom,
            .batch_tokens = first.batch_tokens(),
            .counted = std::holds_alternative<strategies::Transformer>(first.base().model) ? "tokens" : "samples",
            .goal = first.goal(),
            .warnings = first.warnings()};
  auto const of_each = plans_of_each(asked, searches);
  for (auto& search : searches) add_search(search, of_each, plans);
  rank(plans);
  plans.pareto = reports::pareto_front(plans.plans);
  answer_counts(plans);
  judge(plans);
  what_ifs.answer(plans);
  if (plans.plans.size() > asked.top) plans.plans.resize(asked.top);
  if (plans.goal.critical_batch) {
    auto const warning = reports::critical_batch_warning(static_cast<double>(plans.batch_tokens),
                                                         *plans.goal.critical_batch, plans.counted);
    if (!warning.empty()) plans.warnings.push_back(warning);
  }
  return plans;
}

}  // namespace twinstep::explore::plan
