#pragma once

#include <span>

#include "strategies/communication.hpp"

namespace twinstep::strategies {

/// What DeepSpeed does with the summed gradients of a rank's partition before the update: it looks for overflow, then
/// takes the norm; each is a pass over the partition, one number that is all-reduced over `lane`, and a host that waits
/// for it (.item()). Then gradients are clipped, if the plan says so. Gradients in host memory are checked on the GPU
/// before they leave, so that only the numbers are exchanged; the pass that clips them on the CPU is not modelled.
/// Source: deepspeed/runtime/zero/stage_1_and_2.py, step, check_overflow, scaled_global_norm.
void check_gradients(StepContext& context, program::Region gradients, Lane lane);

}  // namespace twinstep::strategies
