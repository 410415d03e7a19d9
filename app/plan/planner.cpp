#include "app/plan/planner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/plan/cluster_search.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::app::plan {
namespace {

using reports::PlannedStep;
using reports::Plans;

std::vector<ClusterSearch> searches_of(PlanOptions const& options, std::function<void()> const& progress) {
  auto clusters = std::vector<std::optional<std::string>>(options.clusters.begin(), options.clusters.end());
  if (clusters.empty()) clusters.emplace_back();
  if (options.prices.size() > 1 && options.prices.size() != clusters.size())
    throw InputError{fmt::format("--price: found {} prices for {} clusters; give one, or one for each",
                                 options.prices.size(), clusters.size())};
  auto searches = std::vector<ClusterSearch>{};
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    auto price = std::optional<std::string>{};
    if (!options.prices.empty()) price = options.prices[options.prices.size() > 1 ? i : 0];
    searches.emplace_back(options, clusters[i], price, progress);
  }
  return searches;
}

/// Costs are compared.
void check_currencies(std::vector<ClusterSearch> const& searches) {
  for (auto const& search : searches)
    if (auto const& [first, other] = std::pair{searches.front().price(), search.price()};
        first && other && first->per_gpu_hour.currency != other->per_gpu_hour.currency)
      throw InputError{fmt::format("--price: found {} and {}; give all prices in one currency",
                                   first->per_gpu_hour.currency, other->per_gpu_hour.currency)};
}

void check_strategies(std::vector<std::string> const& names) {
  for (auto const& name : names)
    if (!find_enum<strategies::StrategyName>(name))
      throw InputError{fmt::format("--strategy: found {}; {}", quoted(name),
                                   suggest_name(name, all_names<strategies::StrategyName>()))};
}

bool reaches_goal(PlannedStep const& plan, reports::Goal const& goal) {
  return !plan.job || (reports::meets_deadline(*plan.job, goal) && reports::within_budget(*plan.job, goal));
}

double cost_of(PlannedStep const& plan) {
  return plan.job->cost ? plan.job->cost->amount : plan.job->gpu_hours;
}

/// Those that reach the goal first; among them the cheapest where there is a deadline, else the fastest.
void rank(Plans& plans) {
  auto const by_cost = plans.goal.deadline && std::ranges::any_of(plans.plans, [&](PlannedStep const& plan) {
                         return reaches_goal(plan, plans.goal);
                       });
  plans.ranked_by = by_cost ? "cost, those that end in time first" : plans.goal.tokens ? "time" : "step time";
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
  auto text = fmt::format("No plan meets the deadline of {}: the fastest needs {} on {} GPUs",
                          reports::long_time_text(*plans.goal.deadline), reports::long_time_text(fastest.job->time),
                          fastest.gpus);
  for (auto const& each : plans.minimum) {
    text += each.meet_deadline ? fmt::format("; {} GPUs would do", *each.meet_deadline)
                               : fmt::format("; no number of GPUs up to {} would do", each.most);
    if (plans.minimum.size() > 1) text += fmt::format(" on {}", each.cluster);
  }
  return text + ".";
}

std::string memory_verdict(Plans const& plans) {
  auto const& nearest = plans.rejected.front();
  auto text = fmt::format("No plan fits on {} GPUs: {} {}", nearest.gpus, nearest.strategy, nearest.reason);
  for (auto const& each : plans.minimum)
    if (each.fit) text += fmt::format("; {} GPUs of {} would do", *each.fit, each.cluster);
  return text + ".";
}

void judge(Plans& plans) {
  if (plans.plans.empty()) {
    if (!plans.rejected.empty()) plans.verdict.push_back(memory_verdict(plans));
    return;
  }
  if (reaches_goal(plans.plans.front(), plans.goal) || !plans.plans.front().job) return;
  auto const fastest =
      *std::ranges::min_element(plans.plans, {}, [](PlannedStep const& plan) { return plan.job->time; });
  if (!reports::meets_deadline(*fastest.job, plans.goal)) plans.verdict.push_back(deadline_verdict(plans, fastest));
  auto const cheapest = *std::ranges::min_element(plans.plans, {}, cost_of);
  if (plans.goal.budget && !reports::within_budget(*cheapest.job, plans.goal))
    plans.verdict.push_back(fmt::format("No plan stays within {}: the cheapest costs {} on {} GPUs.",
                                        reports::money_text(*plans.goal.budget),
                                        reports::money_text(*cheapest.job->cost), cheapest.gpus));
  if (plans.verdict.empty())
    plans.verdict.push_back("No plan reaches deadline and budget together: see the front of time and cost.");
}

void add_search(ClusterSearch& search, Effort const& effort, Plans& plans) {
  for (auto const gpus : search.counts()) {
    auto found = search.plans_on(gpus, effort);
    plans.plans.insert(plans.plans.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    auto rejected = search.rejected_on(gpus);
    plans.rejected.insert(plans.rejected.end(), std::make_move_iterator(rejected.begin()),
                          std::make_move_iterator(rejected.end()));
  }
  plans.minimum.push_back(search.minimum());
  plans.configurations += search.configurations();
  plans.simulations += search.simulations();
  if (search.price()) plans.prices.push_back(*search.price());
}

}  // namespace

reports::Plans make_plans(PlanOptions const& options, std::function<void()> const& progress) {
  check_strategies(options.strategies);
  auto searches = searches_of(options, progress);
  check_currencies(searches);
  auto plans = Plans{.model = std::string{model_name(searches.front().base().model)},
                     .batch_tokens = searches.front().batch_tokens(),
                     .goal = searches.front().goal(),
                     .warnings = searches.front().warnings()};
  auto counts = std::size_t{0};
  for (auto const& search : searches) counts += search.counts().size();
  auto const top = static_cast<std::size_t>(options.top);
  auto const effort = counts > 1                   ? Effort{.plans = 1, .most_simulations = 12}
                      : options.strategies.empty() ? Effort{}
                                                   : Effort{.plans = top, .most_simulations = 96};
  for (auto& search : searches) add_search(search, effort, plans);
  rank(plans);
  plans.pareto = reports::pareto_front(plans.plans);
  judge(plans);
  if (plans.plans.size() > top) plans.plans.resize(top);
  if (plans.goal.critical_batch) {
    auto const warning =
        reports::critical_batch_warning(static_cast<double>(plans.batch_tokens), *plans.goal.critical_batch);
    if (!warning.empty()) plans.warnings.push_back(warning);
  }
  return plans;
}

}  // namespace twinstep::app::plan
