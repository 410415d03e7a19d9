#include "sim/engine/virtual_executor.hpp"

#include "sim/engine/step.hpp"
#include "sim/program/stuck_program.hpp"

namespace twinstep::engine {

// Start every operation whose stream is free and whose waits are over. Advance the clock to the next completion (a
// kernel, a copy, a flow, a latency), record it, and start what it released. The step is over when every operation has
// run. If operations remain and nothing can complete, the program is stuck: say who waits for whom.
timeline::Timeline run(program::StepProgram const& program, Machine const& machine, RunOptions options) {
  auto step = Step{program, machine, options};
  step.start_ready_operations();
  while (auto const completion = step.next_completion()) {
    step.finish(*completion);
    step.start_ready_operations();
  }
  if (step.has_unfinished_operations()) throw program::StuckProgram{step.who_waits_for_whom()};
  return std::move(step).timeline();
}

}  // namespace twinstep::engine
