#pragma once

#include <optional>
#include <span>

#include "strategies/parts/data_parallel.hpp"
#include "strategies/parts/flat_layout.hpp"

namespace twinstep::strategies {

/// Where parameters are in a pipeline.
struct StagePlace {
  std::int64_t stage = 0;
  std::span<UnitRange const> chunks = {};
};

/// Megatron-LM's contiguous buffer of parameters, and that of gradients: tensors in reverse order of registration, cut
/// into buckets that close with the tensor that brings them to `bucket_size` elements. Without overlap_grad_reduce all
/// is one bucket. With the distributed optimizer a tensor begins at a multiple of 64 elements, and a bucket ends at a
/// multiple of lcm(ranks, 128), or of lcm(ranks, 128, 2^16) with pad_buckets_for_high_nccl_busbw; each bucket is cut
/// into `shards`, one for each rank that shares the states.
///
/// Each chunk of a pipeline's stage has buffers of its own; later stages and later chunks have one bucket each, as they
/// reduce while the pipeline runs empty. With the distributed optimizer a matrix that two stages share is a bucket by
/// itself, so that both shard it alike.
///
/// Source: megatron/core/distributed/param_and_grad_buffer.py, _ParamAndGradBuffer; distributed_data_parallel.py
/// (bucket_size = max(40000000, 1000000 * ranks)).
[[nodiscard]] FlatLayout megatron_layout(Parameters const& parameters, MegatronOptions const& options,
                                         std::int64_t ranks, std::int64_t shards, StagePlace const& place = {});

/// Whether a step begins with gathering what the last one updated. Without the distributed optimizer nothing is
/// gathered, and without overlap_grad_reduce Megatron does not accept overlap_param_gather
/// (megatron/training/arguments.py).
[[nodiscard]] constexpr bool gathers_ahead(MegatronOptions const& options) {
  return options.use_distributed_optimizer && options.overlap_grad_reduce && options.overlap_param_gather;
}

}  // namespace twinstep::strategies
