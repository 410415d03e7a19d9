#pragma once

#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// Throws `InternalError` with the first few findings if `program` has defects, races or mismatches: whoever made it
/// has a bug. The later checks run only on a program that passed the earlier ones.
void check(StepProgram const& program);

}  // namespace twinstep::program
