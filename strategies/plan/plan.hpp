#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/data_type.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "strategies/model/shape.hpp"
#include "strategies/plan/framework_options.hpp"

namespace twinstep::strategies {

/// How data-parallel ranks share the states of training, and whose code does it.
enum class StrategyName : std::uint8_t {
  kNaive,       ///< replicas; one all-reduce for each gradient tensor after the backward pass
  kDdp,         ///< PyTorch's: replicas; buckets of gradients are reduced while the backward pass goes on
  kZero1,       ///< as the paper has it: optimizer state sharded
  kZero2,       ///< and gradients
  kZero3,       ///< and parameters
  kFsdp1,       ///< PyTorch's FullyShardedDataParallel
  kFsdp2,       ///< PyTorch's fully_shard
  kDeepSpeed1,  ///< DeepSpeed's stages, as the code does them
  kDeepSpeed2,
  kDeepSpeed3,
  kMegatron  ///< Megatron-LM's distributed optimizer
};

/// What a block that is recomputed keeps from its forward beside its input; its backward makes the rest again.
enum class Recompute : std::uint8_t {
  kNone,       ///< everything: nothing is recomputed
  kFull,       ///< nothing
  kSelective,  ///< all but the attention core (Korthikanti et al., arXiv 2205.05198, section 5)
  kPerOp       ///< results of attention and of every second GEMM (torchtitan's selective policy for operations)
};

/// Which blocks are recomputed.
struct RecomputeScope {
  std::int64_t every = 1;             ///< each so many-th block
  std::int64_t segment = 1;           ///< so many blocks are recomputed together, from the input of the first
  std::optional<std::int64_t> first;  ///< only so many blocks, from the first
  bool operator==(RecomputeScope const&) const = default;
};

enum class Optimizer : std::uint8_t {
  kAdamWFused,
  kAdamWForeach,  ///< PyTorch's default on GPUs: one pass over memory for each operation of the formula
  kAdamW8Bit,     ///< moments in blocks of 8 bits
  kSgdMomentum
};

/// Whether it is a paper's schedule, which no framework runs as it is.
[[nodiscard]] constexpr bool is_textbook(StrategyName name) {
  using enum StrategyName;
  return name == kNaive || name == kZero1 || name == kZero2 || name == kZero3;
}

/// How a model is trained, without a word about the machine.
struct Plan {
  StrategyName strategy = StrategyName::kDdp;
  Recompute recompute = Recompute::kNone;
  std::int64_t ranks = 1;            ///< data-parallel
  std::int64_t micro_batch = 1;      ///< sequences (samples for an MLP) that a rank computes at a time
  std::int64_t global_batch = 1;     ///< of all ranks, for one optimizer step
  std::int64_t sequence_length = 1;  ///< tokens; 1 for an MLP
  /// Of compute. Parameters and gradients have it too unless the next two say otherwise; below fp32 the optimizer then
  /// keeps fp32 masters.
  DataType precision = DataType::kBf16;
  bool flash_attention = true;
  Activation activation = Activation::kEager;
  CrossEntropy cross_entropy = CrossEntropy::kPlain;
  NormKernels norms = NormKernels::kFused;
  std::optional<DataType> linear_type;     ///< in which a block's linear layers multiply, if not the precision
  Scaling scaling = Scaling::kTensorWise;  ///< of numbers for `linear_type`
  std::optional<Bytes> bucket;        ///< a bucket of gradients closes when it holds this much; see `bucket_limits`
  std::optional<Bytes> first_bucket;  ///< the first bucket of a step likewise
  /// Ranks that states are sharded over, neighbours; the groups are replicas of each other. 0 for all.
  std::int64_t shard_group = 0;
  RecomputeScope recompute_scope;
  /// In which parameters are held between steps; fp32 is what autocast and FSDP's mixed precision do. Each use casts.
  std::optional<DataType> parameter_type;
  std::optional<DataType> reduce_type;  ///< in which gradients cross the wire
  Optimizer optimizer = Optimizer::kAdamWFused;
  bool has_old_foreach = false;  ///< PyTorch's before 2.1, whose foreach AdamW makes a second temporary
  bool clips_gradients = false;  ///< by their norm over all ranks
  DdpOptions ddp;
  FsdpOptions fsdp;
  DeepSpeedOptions deepspeed;
  MegatronOptions megatron;
  OffloadOptions offload;

  bool operator==(Plan const&) const = default;
};

/// PyTorch's own wrappers hold fp32 parameters and cast them for 16-bit compute: that is what autocast and
/// MixedPrecision do. The others hold 16 bits, and their optimizer fp32 masters.
[[nodiscard]] constexpr bool holds_fp32_parameters(StrategyName name) {
  return name == StrategyName::kDdp || name == StrategyName::kFsdp1 || name == StrategyName::kFsdp2;
}

/// What `Plan::parameter_type` is where the user says nothing.
[[nodiscard]] constexpr std::optional<DataType> default_parameter_type(StrategyName name, DataType precision) {
  auto const is_16_bit = size_of(precision) < size_of(DataType::kFp32);
  return holds_fp32_parameters(name) && is_16_bit ? std::optional{DataType::kFp32} : std::nullopt;
}

/// Type in which parameters are held between steps.
[[nodiscard]] constexpr DataType held_type(Plan const& plan) {
  return plan.parameter_type.value_or(plan.precision);
}

/// Ranks that share one copy of the states, and how many such copies there are.
[[nodiscard]] constexpr std::int64_t shard_ranks(Plan const& plan) {
  return plan.shard_group > 0 ? plan.shard_group : plan.ranks;
}
[[nodiscard]] constexpr std::int64_t replicas(Plan const& plan) {
  return plan.ranks / shard_ranks(plan);
}

/// Ranks of the inner groups that the plan cuts all ranks into: those that share states, or that a second shard of the
/// parameters is cut over (FSDP2's resharding, ZeRO++'s hpZ).
[[nodiscard]] constexpr std::int64_t inner_group(Plan const& plan) {
  if (plan.strategy == StrategyName::kFsdp2 && plan.fsdp.reshard_after_forward > 1)
    return plan.fsdp.reshard_after_forward;
  if (plan.strategy == StrategyName::kDeepSpeed3 && plan.deepspeed.zero_hpz_partition_size > 1)
    return plan.deepspeed.zero_hpz_partition_size;
  return shard_ranks(plan);
}

/// A plan that arithmetic rules out: an answer, not an error.
struct Infeasible {
  std::string reason;  ///< with the numbers
  std::string way_out;
};

/// Micro-batches of one optimizer step on one rank. Requires that the plan divides (see `find_obstacle`).
[[nodiscard]] constexpr std::int64_t accumulation(Plan const& plan) {
  return plan.global_batch / (plan.micro_batch * plan.ranks);
}

struct BucketLimits {
  Bytes first;
  Bytes others;
};

/// When buckets close, by the plan or by the defaults of the frameworks. DDP: 25 MiB, and 1 MiB for the first one so
/// that reduction starts early (PyTorch, torch/csrc/distributed/c10d/reducer.hpp). ZeRO: 5e8 elements (DeepSpeed,
/// deepspeed/runtime/zero/config.py, reduce_bucket_size).
[[nodiscard]] constexpr BucketLimits bucket_limits(Plan const& plan) {
  auto const is_ddp = plan.strategy == StrategyName::kDdp;
  auto const others = plan.bucket.value_or(is_ddp ? Bytes{25 << 20} : size_of(plan.precision) * 500'000'000);
  auto const first = plan.first_bucket.value_or(is_ddp ? Bytes{1 << 20} : others);
  return {std::min(first, others), others};
}

/// Type of the optimizer's master weights and moments.
[[nodiscard]] constexpr DataType master_type(Plan const& plan) {
  return plan.precision == DataType::kFp64 ? DataType::kFp64 : DataType::kFp32;
}

/// Whether the optimizer keeps a copy of the parameters of its own.
[[nodiscard]] constexpr bool has_master_copy(Plan const& plan) {
  return size_of(held_type(plan)) < size_of(master_type(plan));
}

}  // namespace twinstep::strategies

namespace twinstep {
template <>
struct EnumNames<strategies::StrategyName> {
  static constexpr std::array<std::string_view, 11> values{"naive",       "ddp",         "zero-1",  "zero-2",
                                                           "zero-3",      "fsdp1",       "fsdp2",   "deepspeed-1",
                                                           "deepspeed-2", "deepspeed-3", "megatron"};
};
template <>
struct EnumNames<strategies::Recompute> {
  static constexpr std::array<std::string_view, 4> values{"none", "full", "selective", "per-op"};
};
template <>
struct EnumNames<strategies::Optimizer> {
  static constexpr std::array<std::string_view, 4> values{"adamw-fused", "adamw-foreach", "adamw-8bit", "sgd-momentum"};
};
}  // namespace twinstep
