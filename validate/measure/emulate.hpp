#pragma once

#include "sim/hardware/cluster.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::measure {

/// `program` with every kernel replaced by a delay of the time that it would take alone on `gpu`: its start, and the
/// longer of its arithmetic and its memory traffic (cost::KernelModel). Communication, copies and host work stay. So
/// ranks that share a few cores behave like ranks with a GPU each, but for the data, which nobody computes.
/// Operands stay, and so do lifetimes and what waits for what. Requires element types that `gpu` has a rate for.
[[nodiscard]] program::StepProgram with_delays(program::StepProgram program, hardware::Gpu const& gpu);

}  // namespace twinstep::measure
