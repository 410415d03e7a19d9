#include "explore/ask/ask.hpp"

#include "explore/ask/host_share.hpp"
#include "explore/ask/software.hpp"
#include "explore/ask/way_out.hpp"
#include "sim/base/version.hpp"
#include "sim/program/checks.hpp"
#include "strategies/compile.hpp"

namespace twinstep::explore {

hardware::Cluster machine_of(Scenario const& scenario) {
  return with_software(scenario.cluster, scenario.plan.strategy);
}

Outcome run_step(Scenario const& scenario, engine::RunOptions options) {
  return run_step(scenario, engine::Machine{machine_of(scenario), scenario.plan.ranks}, options);
}

Outcome run_step(Scenario const& scenario, engine::Machine const& machine, engine::RunOptions options, Checks checks) {
  auto compiled = strategies::compile(scenario.model, scenario.plan);
  if (auto const* obstacle = std::get_if<strategies::Infeasible>(&compiled))
    return reports::Infeasible{scenario.title(), obstacle->reason, obstacle->way_out};
  auto run = Run{.step = std::move(std::get<program::StepProgram>(compiled)), .timeline = {}, .summary = {}};
  if (checks == Checks::kAll) program::check(run.step);
  options.communication_is_free = scenario.network_is_free;
  run.timeline = engine::run(run.step, machine, options);
  run.timeline.manifest.version = kVersion;
  run.timeline.manifest.scenario = scenario.title();
  run.summary = reports::summarize(run.timeline);
  if (!std::holds_alternative<strategies::Transformer>(scenario.model)) run.summary.counted = "samples";
  run.summary.network_is_free = scenario.network_is_free;
  auto const [memory, drives] = host_share(scenario.cluster.node());
  reports::hold_against_host(run.summary, memory, drives);
  if (auto const& error = scenario.cluster.step_error)
    run.summary.interval = {to_duration(to_seconds(run.summary.step_time) * error->low.value),
                            to_duration(to_seconds(run.summary.step_time) * error->high.value)};
  return run;
}

void add_way_out(Run& run, Scenario const& scenario) {
  if (!run.summary.fits) run.summary.way_out = find_way_out(scenario);
}

}  // namespace twinstep::explore
