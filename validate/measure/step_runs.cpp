#include "validate/measure/step_runs.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace twinstep::measure {

StepRuns run_steps(Executor& executor, program::StepProgram const& program, int steps, int warm_up) {
  TWINSTEP_CHECK(steps > 0 && warm_up >= 0, "at least one step is measured");
  for (int i = 0; i < warm_up; ++i) static_cast<void>(executor.run(program));
  auto timelines = std::vector<timeline::Timeline>{};
  for (int i = 0; i < steps; ++i) timelines.push_back(executor.run(program));
  auto runs = StepRuns{};
  if (!executor.job().is_first_process) return runs;
  for (auto const& timeline : timelines) runs.times.push_back(timeline.step_time);
  runs.time = spread_of(runs.times);
  auto const middle = timelines.begin() + (steps - 1) / 2;
  std::ranges::nth_element(timelines, middle, {}, &timeline::Timeline::step_time);
  runs.median = std::move(*middle);
  return runs;
}

}  // namespace twinstep::measure
