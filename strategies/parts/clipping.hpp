#pragma once

#include <optional>
#include <span>

#include "strategies/parts/communication.hpp"

namespace twinstep::strategies {

/// Scales `gradients` so that their norm is at most 1, if the plan clips gradients; otherwise does nothing. Call it
/// before the update, where the compute stream has the sums over ranks and micro-batches.
///
/// Reads every gradient for the norm, then reads and writes it. Where ranks hold different shards, the squared norm,
/// one number, is summed over `shared_by`, and over the ranks that have other parts of the model. `host_reads_norm`:
/// the host waits for it, as DeepSpeed and Megatron do
/// (.item()), and torch.nn.utils.clip_grad_norm_ does not. The coefficient is min(1, 1 / (norm + 1e-6)), as in the
/// latter.
void clip_gradients(StepContext& context, std::span<program::Region const> gradients,
                    std::optional<Lane> shared_by = {}, bool host_reads_norm = false);
inline void clip_gradients(StepContext& context, program::Region gradients, std::optional<Lane> shared_by = {},
                           bool host_reads_norm = false) {
  clip_gradients(context, std::span{&gradients, 1}, shared_by, host_reads_norm);
}

/// The same for gradients in host memory, on `cpu`, a stream of the host: its cores take the norm and scale; the number
/// is summed on the devices in between, and the host waits until it is back, as FSDP1's clip_grad_norm_ does. (FSDP2's
/// is summed by Gloo, if the job has it beside NCCL.) Call it when the gradients have arrived.
/// Source: torch/distributed/fsdp/fully_sharded_data_parallel.py, clip_grad_norm_.
void clip_host_gradients(StepContext& context, StreamId cpu, std::span<program::Region const> gradients,
                         std::optional<Lane> shared_by);

// The parts, for a framework that has its own order of them.

/// One number, a squared norm to be.
[[nodiscard]] program::Region squared_norm(StepContext& context, NameId name,
                                           program::MemorySpace space = program::MemorySpace::kDevice);
/// Adds the squares of `gradients` to `norm`.
void add_squares(StepContext& context, StreamId stream, NameId name, std::span<program::Region const> gradients,
                 program::Region norm);
/// Scales `gradients`, whose squared norm is `norm`, so that it is at most 1.
void scale_to_norm(StepContext& context, StreamId stream, std::span<program::Region const> gradients,
                   program::Region norm);

}  // namespace twinstep::strategies
