#pragma once

#include <span>

#include "strategies/parts/communication.hpp"

namespace twinstep::strategies {

/// What DeepSpeed does with the summed gradients of a rank's partition before the update: it looks for overflow, then
/// takes the norm; each is a pass over the partition, one number that is all-reduced over `lane`, and a host that waits
/// for it (.item()). A last pass multiplies them, by a factor below 1 if the plan clips and their norm is above 1.
/// `lane` is one on the compute stream.
/// Source: deepspeed/runtime/zero/stage_1_and_2.py, step, check_overflow, scaled_global_norm, unscale_and_clip_grads.
void check_gradients(StepContext& context, program::Region gradients, Lane lane);

/// What was found of gradients on the GPU, before they left for host memory: one number each.
struct HostChecks {
  program::Region overflow;
  program::Region norm;  ///< squared
};
/// Their exchange, as above.
void share_host_checks(StepContext& context, HostChecks const& checks, Lane lane);

}  // namespace twinstep::strategies
