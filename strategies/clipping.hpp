#pragma once

#include <optional>
#include <span>

#include "strategies/communication.hpp"

namespace twinstep::strategies {

/// Scales `gradients` so that their norm is at most 1, if the plan clips gradients; otherwise does nothing. Call it
/// before the update, where the compute stream has the sums over ranks and micro-batches.
///
/// Reads every gradient for the norm, then reads and writes it. Where ranks hold different shards, the squared norm,
/// one number, is summed over `shared_by`. `host_reads_norm`: the host waits for it, as DeepSpeed and Megatron do
/// (.item()), and torch.nn.utils.clip_grad_norm_ does not. The coefficient is min(1, 1 / (norm + 1e-6)), as in the
/// latter.
void clip_gradients(StepContext& context, std::span<program::Region const> gradients,
                    std::optional<Lane> shared_by = {}, bool host_reads_norm = false);
inline void clip_gradients(StepContext& context, program::Region gradients, std::optional<Lane> shared_by = {},
                           bool host_reads_norm = false) {
  clip_gradients(context, std::span{&gradients, 1}, shared_by, host_reads_norm);
}

}  // namespace twinstep::strategies
