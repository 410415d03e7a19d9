#pragma once

#include <span>
#include <vector>

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/cuda/rank_run.hpp"

namespace twinstep::cuda {

/// Puts the times of all ranks, by rank, together with what the program says about each operation.
[[nodiscard]] timeline::Timeline timeline_of(program::StepProgram const& program,
                                             std::span<std::vector<OperationTimes> const> times);

/// One that says only what the step was: for processes that do not get the spans.
[[nodiscard]] timeline::Timeline empty_timeline_of(program::StepProgram const& program);

}  // namespace twinstep::cuda
