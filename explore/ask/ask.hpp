#pragma once

#include <cstdint>
#include <variant>

#include "explore/ask/scenario.hpp"
#include "reports/summary.hpp"
#include "sim/engine/virtual_executor.hpp"
#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::explore {

/// A scenario's step after it ran on the virtual clock.
struct Run {
  program::StepProgram step;
  timeline::Timeline timeline;
  reports::Summary summary;
};

/// The run, or why the plan cannot be laid out at all.
using Outcome = std::variant<Run, reports::Infeasible>;

/// What the scenario's step runs on: its cluster, with the software of its strategy's framework unless it names
/// another.
[[nodiscard]] hardware::Cluster machine_of(Scenario const& scenario);

/// Compiles the scenario's step, checks and simulates it, and sums up what it comes to. The scenario's
/// `network_is_free` is obeyed, whatever `options` say. Throws BeyondRange for what no clock can count. Cost: about a
/// microsecond an operation.
[[nodiscard]] Outcome run_step(Scenario const& scenario, engine::RunOptions options = {});

/// Whether a step's program is searched for defects, races and mismatches, which would be bugs of its strategy. That
/// takes longer than the simulation.
enum class Checks : std::uint8_t { kAll, kNone };

/// The same on a machine that was made of `machine_of(scenario)` before: for who asks many questions.
[[nodiscard]] Outcome run_step(Scenario const& scenario, engine::Machine const& machine, engine::RunOptions options,
                               Checks checks = Checks::kAll);

/// Says in the summary of a run that does not fit what would. Cost: that of `find_way_out`.
void add_way_out(Run& run, Scenario const& scenario);

}  // namespace twinstep::explore
