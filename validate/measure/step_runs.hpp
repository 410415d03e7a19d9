#pragma once

#include <vector>

#include "sim/hardware/cluster.hpp"
#include "sim/program/step_program.hpp"
#include "validate/measure/executor.hpp"
#include "validate/measure/statistics.hpp"

namespace twinstep::measure {

/// Steps of one program, measured one after another.
struct StepRuns {
  std::vector<Duration> times;  ///< in their order
  Spread time;
  timeline::Timeline median;  ///< of the step in the middle; of an even number, of the faster of two
};

/// Runs `warm_up` steps that do not count and `steps` that do, at least one. Every process of the job calls it; the
/// first gets the result, the others an empty one.
[[nodiscard]] StepRuns run_steps(Executor& executor, program::StepProgram const& program, int steps, int warm_up);

/// `program` with every kernel replaced by a delay of the time that it would take alone on `gpu`: its start, and the
/// longer of its arithmetic and its memory traffic (cost::KernelModel). Communication, copies and host work stay. So
/// ranks that share a few cores behave like ranks with a GPU each, but for the data, which nobody computes.
/// Operands stay, and so do lifetimes and what waits for what. Requires element types that `gpu` has a rate for.
[[nodiscard]] program::StepProgram with_delays(program::StepProgram program, hardware::Gpu const& gpu);

}  // namespace twinstep::measure
