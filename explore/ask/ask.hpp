#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "explore/ask/scenario.hpp"
#include "reports/summary.hpp"
#include "sim/engine/virtual_executor.hpp"
#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"
#include "strategies/compile.hpp"

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
/// another. Made once for all scenarios that share their parts.
[[nodiscard]] std::shared_ptr<engine::Machine const> machine_of(Scenario const& scenario);

/// Whether a step's program is searched for defects, races and mismatches, which would be bugs of its strategy. That
/// takes longer than the simulation.
enum class Checks : std::uint8_t { kAll, kNone };

using strategies::MicroBatches;

/// Compiles the scenario's step, checks and simulates it, and sums up what it comes to. The scenario's
/// `network_is_free` is obeyed, whatever `options` say. Throws BeyondRange for what no clock can count. Of
/// micro-batches that are all alike a few are run, and program and timeline leave the others out, unless all are asked
/// for. Cost: about a microsecond an operation.
[[nodiscard]] Outcome run_step(Scenario const& scenario, engine::RunOptions options = {}, Checks checks = Checks::kAll,
                               MicroBatches micro_batches = MicroBatches::kFew);

/// The step of a scenario that varies one whose own step has passed the checks.
[[nodiscard]] Outcome run_variation(Scenario const& scenario, engine::RunOptions options = {});

}  // namespace twinstep::explore
