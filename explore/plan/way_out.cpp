#include "explore/plan/way_out.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "explore/ask/parallel.hpp"
#include "explore/plan/candidates.hpp"
#include "reports/quantity_text.hpp"
#include "strategies/compile.hpp"

namespace twinstep::explore {
namespace {

using strategies::Plan;
using strategies::Recompute;

/// The same plan with the next strategy that shards more, if there is one.
std::optional<Plan> with_more_shards(Plan plan) {
  auto const next = plan.strategy.traits().shards_more;
  if (!next) return std::nullopt;
  plan.strategy = plan.strategy.changed_to(*next);
  if (auto* const textbook = plan.strategy.get_if<strategies::TextbookOptions>())
    textbook->bucket = textbook->first_bucket = {};
  plan.states.parameter_type = default_parameter_type(plan.strategy, plan.kernels.precision);
  return plan;
}

/// Plans that need less memory than `plan`, the smaller changes first.
std::vector<Plan> thriftier(Plan const& plan) {
  auto plans = std::vector<Plan>{};
  for (auto const recompute : {plan.kernels.recompute, Recompute::kFull}) {
    for (auto candidate = std::optional{plan}; candidate; candidate = with_more_shards(*candidate)) {
      candidate->kernels.recompute = recompute;
      if (*candidate != plan && std::ranges::find(plans, *candidate) == plans.end()) plans.push_back(*candidate);
    }
  }
  return plans;
}

/// Whether the plan cannot be laid out, or holds too much whatever else happens in its step.
bool cannot_fit(Scenario const& scenario) {
  auto const& [model, plan] = std::tie(scenario.model, scenario.plan);
  if (find_obstacle(model, plan)) return true;
  auto const machine = machine_of(scenario);
  auto const bound = plan::step_bound(plan::states_bound(model, plan, *machine),
                                      plan::micro_batch_bound(model, plan, *machine), strategies::accumulation(plan));
  return plan::fullness(bound, plan::capacity_of(scenario.cluster->node())) > 1;
}

/// What the scenario comes to with another plan, if that fits.
std::optional<reports::Summary> fitting(Scenario scenario, Plan const& plan) try {
  scenario.plan = plan;
  if (cannot_fit(scenario)) return std::nullopt;
  auto outcome = run_step(scenario);
  auto* const run = std::get_if<Run>(&outcome);
  return run != nullptr && run->summary.fits ? std::optional{std::move(run->summary)} : std::nullopt;
} catch (BeyondRange const&) {  // no step to propose
  return std::nullopt;
}

std::string find_way_out(Scenario const& scenario) {
  for (auto const& plan : thriftier(scenario.plan))
    if (auto const summary = fitting(scenario, plan))
      return fmt::format("{}{} would fit ({})", name_of(plan.strategy),
                         plan.kernels.recompute == Recompute::kFull ? " + recompute" : "",
                         reports::memory_text(summary->peak.total()));
  auto const has_sequences = std::holds_alternative<strategies::Transformer>(scenario.model);
  return fmt::format("no strategy fits on these GPUs: use more of them{} a smaller micro-batch{}",
                     has_sequences ? "," : " or", has_sequences ? " or shorter sequences" : "");
}

}  // namespace

void add_way_out(Run& run, Scenario const& scenario) {
  if (!run.summary.fits) run.summary.way_out = find_way_out(scenario);
}

void add_ways_out(Answered& question) {
  for_each_index(question.outcomes.size(), [&](std::size_t i) {
    if (auto* run = std::get_if<Run>(&question.outcomes[i])) add_way_out(*run, question.scenarios[i]);
  });
}

}  // namespace twinstep::explore
