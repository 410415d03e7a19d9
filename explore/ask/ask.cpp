#include "explore/ask/ask.hpp"

#include <tuple>

#include "explore/ask/host_share.hpp"
#include "explore/ask/parts.hpp"
#include "explore/ask/software.hpp"
#include "sim/base/version.hpp"
#include "sim/program/checks.hpp"

namespace twinstep::explore {

std::shared_ptr<engine::Machine const> machine_of(Scenario const& scenario) {
  auto const& [cluster, plan] = std::tie(scenario.cluster, scenario.plan);
  if (scenario.parts != nullptr) return scenario.parts->machine(cluster, plan.strategy.name(), plan.parallel.world());
  return std::make_shared<engine::Machine const>(with_software(*cluster, plan.strategy.name()), plan.parallel.world());
}

Outcome run_variation(Scenario const& scenario, engine::RunOptions options) {
  return run_step(scenario, options, Checks::kNone);
}

Outcome run_step(Scenario const& scenario, engine::RunOptions options, Checks checks, MicroBatches micro_batches) {
  auto compiled = strategies::compile(scenario.model, scenario.plan, micro_batches);
  if (auto const* obstacle = std::get_if<strategies::Infeasible>(&compiled))
    return reports::Infeasible{scenario.title(), obstacle->reason, obstacle->way_out};
  auto run = Run{.step = std::move(std::get<program::StepProgram>(compiled)), .timeline = {}, .summary = {}};
  if (checks == Checks::kAll) program::check(run.step);
  options.communication_is_free = scenario.network_is_free;
  run.timeline = engine::run(run.step, *machine_of(scenario), options);
  run.timeline.manifest.version = kVersion;
  run.timeline.manifest.scenario = scenario.title();
  run.summary = reports::summarize(run.timeline);
  if (!std::holds_alternative<strategies::Transformer>(scenario.model)) run.summary.counted = "samples";
  run.summary.network_is_free = scenario.network_is_free;
  auto const [memory, drives] = host_share(scenario.cluster->node());
  reports::hold_against_host(run.summary, memory, drives);
  if (auto const& error = scenario.cluster->step_error)
    run.summary.interval = {to_duration(to_seconds(run.summary.step_time) * error->low.value),
                            to_duration(to_seconds(run.summary.step_time) * error->high.value)};
  return run;
}

}  // namespace twinstep::explore
