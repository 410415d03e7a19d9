#pragma once

#include "sim/program/step_program.hpp"

namespace twinstep::cuda {

/// Throws InputError, one line, for what the CUDA executor cannot run: fused attention, kernels on the CPU, memory on
/// NVMe, and arithmetic in fp8 or integers. Requires a well-formed program.
void require_supported(program::StepProgram const& program);

}  // namespace twinstep::cuda
