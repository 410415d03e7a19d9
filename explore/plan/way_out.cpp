#include "explore/plan/way_out.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "explore/ask/parallel.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::explore {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::StrategyName;

/// The plan's strategy, and those of its family that shard more, in order.
std::vector<StrategyName> family_of(StrategyName name) {
  using enum StrategyName;
  switch (name) {
    case kNaive:
    case kDdp: return {name, kZero1, kZero2, kZero3};
    case kZero1: return {kZero1, kZero2, kZero3};
    case kZero2: return {kZero2, kZero3};
    case kDeepSpeed1: return {kDeepSpeed1, kDeepSpeed2, kDeepSpeed3};
    case kDeepSpeed2: return {kDeepSpeed2, kDeepSpeed3};
    case kMegatron: return {kMegatron, kZero3};
    case kZero3:
    case kFsdp1:
    case kFsdp2:
    case kDeepSpeed3: return {name};
  }
  return {name};
}

/// Plans that need less memory than `plan`, the smaller changes first.
std::vector<Plan> thriftier(Plan const& plan) {
  auto plans = std::vector<Plan>{};
  for (auto const recompute : {plan.recompute, Recompute::kFull}) {
    for (auto const name : family_of(plan.strategy)) {
      auto candidate = plan;
      candidate.strategy = name;
      candidate.recompute = recompute;
      if (name != plan.strategy) {
        candidate.bucket = candidate.first_bucket = {};
        candidate.parameter_type = default_parameter_type(name, plan.precision);
      }
      if (candidate != plan && std::ranges::find(plans, candidate) == plans.end()) plans.push_back(candidate);
    }
  }
  return plans;
}

/// What the scenario comes to with another plan, if that fits.
std::optional<reports::Summary> fitting(Scenario scenario, Plan const& plan) try {
  scenario.plan = plan;
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
                         plan.recompute == Recompute::kFull ? " + recompute" : "",
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
