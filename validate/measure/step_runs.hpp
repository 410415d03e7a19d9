#pragma once

#include <vector>

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

}  // namespace twinstep::measure
