#include "app/way_out.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "reports/quantity_text.hpp"
#include "reports/summary.hpp"
#include "sim/engine/virtual_executor.hpp"
#include "strategies/compile.hpp"

namespace twinstep::app {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::StrategyName;

/// Plans that need less memory than `plan`, the smaller changes first.
std::vector<Plan> thriftier(Plan const& plan) {
  auto plans = std::vector<Plan>{};
  for (auto const recompute : {plan.recompute, Recompute::kFull}) {
    for (auto name = plan.strategy; name <= StrategyName::kZero3;
         name = static_cast<StrategyName>(static_cast<int>(name) + 1)) {
      auto candidate = plan;
      candidate.strategy = name;
      candidate.recompute = recompute;
      if (name != plan.strategy) {
        candidate.bucket = candidate.first_bucket = {};
        candidate.parameter_type = default_parameter_type(name, plan.precision);
      }
      auto const saves = name == plan.strategy ? recompute != plan.recompute : name > StrategyName::kDdp;
      if (saves && std::ranges::find(plans, candidate) == plans.end()) plans.push_back(candidate);
    }
  }
  return plans;
}

}  // namespace

std::string find_way_out(Scenario const& scenario) {
  for (auto const& plan : thriftier(scenario.plan)) {
    auto const compiled = strategies::compile(scenario.model, plan);
    auto const* step = std::get_if<program::StepProgram>(&compiled);
    if (step == nullptr) continue;
    auto const summary = reports::summarize(engine::run(*step, engine::Machine{scenario.cluster}));
    if (summary.fits)
      return fmt::format("{}{} would fit ({})", name_of(plan.strategy),
                         plan.recompute == Recompute::kFull ? " + recompute" : "",
                         reports::memory_text(summary.peak.total()));
  }
  return "no strategy fits on these GPUs: use more of them, a smaller micro-batch or shorter sequences";
}

}  // namespace twinstep::app
