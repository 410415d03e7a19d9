#pragma once

#include "strategies/parts/data_parallel.hpp"

/// Collectives as strategies write them.
namespace twinstep::strategies {

/// Where a collective runs: its stream, and the ranks that take part.
struct Lane {
  StreamId stream;
  CommunicatorId communicator;
};

// Each runs not before operation `after` (if there is one) has ended, and after what `lane.stream` holds already.

/// Sums (or averages) `whole` over the ranks and leaves each its shard.
OpId reduce_scatter(StepContext& context, Lane lane, NameId name, program::Region whole, program::Region own,
                    OpId after = {}, program::Reduction reduction = program::Reduction::kSum);
/// Hands every rank's shard to all.
OpId all_gather(StepContext& context, Lane lane, NameId name, program::Region own, program::Region whole,
                OpId after = {});
/// Sums (or averages) `region`, in place.
OpId all_reduce(StepContext& context, Lane lane, NameId name, program::Region region, OpId after = {},
                program::Reduction reduction = program::Reduction::kSum);
/// Hands the root's `region` to all; `root` is a place in the communicator.
OpId broadcast(StepContext& context, Lane lane, NameId name, program::Region region, program::RankValue root,
               OpId after = {});

/// A memory-bound kernel that writes `scale` times `from` to `to`, which may be of another type; reads and writes each
/// once. `launches` kernels do it.
OpId copy_kernel(StepContext& context, StreamId stream, NameId name, program::Region from, program::Region to,
                 double scale = 1, std::uint32_t launches = 1);
/// A memory-bound kernel that adds `part` to `sum`.
OpId add_kernel(StepContext& context, StreamId stream, NameId name, program::Region sum, program::Region part,
                std::uint32_t launches = 1);
/// A memory-bound kernel that multiplies `region` by `scale`, in place.
OpId scale_kernel(StepContext& context, StreamId stream, NameId name, program::Region region, double scale,
                  std::uint32_t launches = 1);
/// Zeroes `region`.
OpId zero_kernel(StepContext& context, StreamId stream, NameId name, program::Region region);

/// Sums tensors over a group of ranks, in place and as one message: through a buffer that they are copied to and back
/// from. Source: Megatron-LM, distributed/finalize_model_grads.py, _allreduce_non_tensor_model_parallel_grads.
void sum_together(StepContext& context, NamedGroup const& group, std::span<program::Region const> tensors);

/// A copy between host and device memory; both regions have the same bytes.
OpId copy_between(StepContext& context, StreamId stream, NameId name, program::Region from, program::Region to);

}  // namespace twinstep::strategies
