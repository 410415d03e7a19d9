#pragma once

#include "sim/program/step_program.hpp"

namespace twinstep::cpu {

/// Refuses a program that this executor cannot run on real numbers.
/// @throws InputError for an element type other than fp32 and fp64, an operation that only has a cost (attention, the
///   kernels of a transformer), a wrong number of operands, or two persistent buffers of one name and scope
void require_supported(program::StepProgram const& program);

}  // namespace twinstep::cpu
