#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/data_type.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"

/// What each framework lets its users choose, under the names that it uses itself. Defaults are the framework's.
namespace twinstep::strategies {

/// A paper's schedule: stage 0 keeps replicas and reduces each gradient after the backward pass; stages 1, 2 and 3 are
/// ZeRO's (Rajbhandari et al., arXiv 1910.02054), with gradients in buckets at stages 1 and 2.
struct TextbookOptions {
  int stage = 0;
  std::optional<Bytes> bucket;        ///< a bucket closes when it holds this much; see `bucket_limits`
  std::optional<Bytes> first_bucket;  ///< the first bucket of a step likewise
  bool operator==(TextbookOptions const&) const = default;
};

/// PyTorch's DistributedDataParallel. Source: torch/nn/parallel/distributed.py,
/// torch/csrc/distributed/c10d/reducer.cpp.
struct DdpOptions {
  enum class Hook : std::uint8_t { kNone, kBf16, kFp16 };

  std::optional<Bytes> bucket;           ///< bucket_cap_mb; see `bucket_limits`
  std::optional<Bytes> first_bucket;     ///< of a step
  bool gradient_as_bucket_view = false;  ///< gradients are views of the buckets: no second copy, no copying
  bool static_graph = false;
  bool find_unused_parameters = false;  ///< buckets stay in reverse registration order; a bitmap is reduced too
  bool broadcast_buffers = true;        ///< every forward with sync begins with them, from rank 0
  Hook comm_hook = Hook::kNone;         ///< gradients are cast for the wire
  bool no_sync = true;           ///< micro-batches before the last one communicate nothing; otherwise each reduces
  bool first_iteration = false;  ///< the step before the buckets are rebuilt: one bucket, no overlap
  bool operator==(DdpOptions const&) const = default;
};

/// What FSDP's micro-batches before the last one do with their gradients.
enum class FsdpAccumulation : std::uint8_t {
  kReduce,         ///< reduce-scatter (and, hybrid, all-reduce) each; sums lie in shards
  kReduceScatter,  ///< hybrid: reduce-scatter each, all-reduce in the last one only (set_requires_all_reduce)
  kNoSync          ///< nothing: sums lie in unsharded gradients (no_sync, set_requires_gradient_sync)
};

/// PyTorch's FullyShardedDataParallel (FSDP1). Source: torch/distributed/fsdp/api.py.
struct Fsdp1Options {
  /// What is sharded; the hybrid ones inside the shard group only, with replicas across groups.
  enum class Sharding : std::uint8_t { kFullShard, kShardGradOp, kNoShard, kHybridShard, kHybridShardZero2 };
  enum class Prefetch : std::uint8_t { kBackwardPre, kBackwardPost, kNone };

  Sharding sharding = Sharding::kFullShard;
  Prefetch backward_prefetch = Prefetch::kBackwardPre;
  bool forward_prefetch = false;  ///< explicit, in the order of the first iteration
  bool limit_all_gathers = true;  ///< the host waits while two freed units are pending
  bool shards_root = true;  ///< embedding, final norm and head are the root unit; otherwise they are units of their own
  /// Units are the layers, embedding and head that have so many parameters or more, and the rest is the root's: the
  /// size-based policy (torch/distributed/fsdp/wrap.py), which looks into layers too. 0: every layer is a unit.
  std::int64_t wraps_from = 0;
  FsdpAccumulation accumulation = FsdpAccumulation::kReduce;
  bool operator==(Fsdp1Options const&) const = default;
};

/// PyTorch's fully_shard (FSDP2). Source: torch/distributed/fsdp/_fully_shard/_fully_shard.py.
struct Fsdp2Options {
  /// 1 frees a unit's parameters after its forward, 0 keeps them for backward, m > 1 keeps an m-th of them, so that
  /// backward gathers over groups of m ranks.
  std::int64_t reshard_after_forward = 1;
  bool shards_root = true;      ///< as in FSDP1
  std::int64_t wraps_from = 0;  ///< likewise
  FsdpAccumulation accumulation = FsdpAccumulation::kReduce;
  bool operator==(Fsdp2Options const&) const = default;
};

/// DeepSpeed's ZeRO stages. Sizes in elements. Source: deepspeed/runtime/zero/config.py.
struct DeepSpeedOptions {
  int stage = 1;  ///< 1, 2 or 3
  std::int64_t reduce_bucket_size = 500'000'000;
  std::optional<bool> overlap_comm;             ///< stage 3 does by default, stages 1 and 2 do not
  bool reduce_scatter = true;                   ///< otherwise all-reduce with predivision
  bool use_multi_rank_bucket_allreduce = true;  ///< reduce_scatter then is an all-reduce of the whole bucket
  std::int64_t stage3_prefetch_bucket_size = 50'000'000;
  std::int64_t stage3_param_persistence_threshold = 100'000;
  std::int64_t stage3_max_live_parameters = 1'000'000'000;
  std::int64_t stage3_max_reuse_distance = 1'000'000'000;
  std::int64_t sub_group_size = 1'000'000'000;
  // ZeRO++ (arXiv 2306.10209).
  std::int64_t zero_hpz_partition_size = 1;  ///< ranks that a second, 16-bit shard for backward is cut over
  bool zero_quantized_weights = false;       ///< gathers in 8 bits
  bool zero_quantized_gradients = false;     ///< two hops of all-to-all in 4 bits in place of reduce-scatter
  bool operator==(DeepSpeedOptions const&) const = default;
};

/// Megatron-LM's DistributedDataParallel and distributed optimizer. Source:
/// megatron/core/distributed/distributed_data_parallel_config.py.
struct MegatronOptions {
  bool use_distributed_optimizer = true;
  bool overlap_grad_reduce = true;
  bool overlap_param_gather = true;
  bool grad_reduce_in_fp32 = true;
  std::optional<std::int64_t> bucket_size;  ///< elements; default max(40,000,000, 1,000,000 · ranks)
  bool pad_buckets_for_high_nccl_busbw = false;
  bool operator==(MegatronOptions const&) const = default;
};

}  // namespace twinstep::strategies

namespace twinstep {
template <>
struct EnumNames<strategies::DdpOptions::Hook> {
  static constexpr std::array<std::string_view, 3> values{"none", "bf16", "fp16"};
};
template <>
struct EnumNames<strategies::Fsdp1Options::Sharding> {
  static constexpr std::array<std::string_view, 5> values{"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD",
                                                          "_HYBRID_SHARD_ZERO2"};
};
template <>
struct EnumNames<strategies::Fsdp1Options::Prefetch> {
  static constexpr std::array<std::string_view, 3> values{"BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"};
};
template <>
struct EnumNames<strategies::FsdpAccumulation> {
  static constexpr std::array<std::string_view, 3> values{"reduce", "reduce_scatter", "no_sync"};
};
}  // namespace twinstep
