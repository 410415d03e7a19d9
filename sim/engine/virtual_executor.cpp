#include "sim/engine/virtual_executor.hpp"

#include "sim/engine/step.hpp"
#include "sim/program/stuck_program.hpp"
#include "sim/program/unfold.hpp"

namespace twinstep::engine {

namespace {

// Start every operation whose stream is free and whose waits are over. Advance the clock to the next completion (a
// kernel, a copy, a flow, a latency), record it, and start what it released. The step is over when every operation has
// run. If operations remain and nothing can complete, the program is stuck: say who waits for whom.
void run(Step& step) {
  step.start_ready_operations();
  while (auto const* completion = step.next_completion()) {
    step.finish(*completion);
    step.start_ready_operations();
  }
  if (step.has_unfinished_operations()) throw program::StuckProgram{step.who_waits_for_whom()};
}

std::optional<timeline::Timeline> run_folded(program::StepProgram const& program, Machine const& machine,
                                             RunOptions options) {
  auto step = Step{program, machine, options};
  run(step);
  return std::move(step).folded_timeline();
}

timeline::Timeline run_whole(program::StepProgram const& program, Machine const& machine, RunOptions options) {
  auto step = Step{program, machine, options};
  run(step);
  return std::move(step).timeline();
}

}  // namespace

timeline::Timeline run(program::StepProgram const& program, Machine const& machine, RunOptions options) {
  constexpr auto kMoreMicroBatches = std::int64_t{16};  // some steps need longer to settle
  if (!program.repeat) return run_whole(program, machine, options);
  if (auto timeline = run_folded(program, machine, options)) return *std::move(timeline);
  auto const longer = unfold(program, kMoreMicroBatches);
  if (!longer.repeat) return run_whole(longer, machine, options);
  if (auto timeline = run_folded(longer, machine, options)) return *std::move(timeline);
  return run_whole(unfold(program), machine, options);
}

}  // namespace twinstep::engine
