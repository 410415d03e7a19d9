#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/data_type.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "strategies/model/shape.hpp"
#include "strategies/plan/parallel.hpp"
#include "strategies/plan/strategy.hpp"

namespace twinstep::strategies {

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
  kSgdMomentum,
  kSgd,            ///< without momentum: no states
  kPagedAdamW,     ///< fp32 moments in unified memory
  kPagedAdamW8Bit  ///< moments in blocks of 8 bits, in unified memory
};

/// What an optimizer keeps of each parameter beside its master.
struct OptimizerTraits {
  int moments = 2;
  bool has_8_bits = false;  ///< a moment takes a byte, and an fp32 scale for every 256 of them
  bool is_paged = false;    ///< moments lie in host memory until the update needs them
};
[[nodiscard]] constexpr OptimizerTraits traits_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdamWFused:
    case Optimizer::kAdamWForeach: break;
    case Optimizer::kAdamW8Bit: return {.has_8_bits = true};
    case Optimizer::kSgdMomentum: return {.moments = 1};
    case Optimizer::kSgd: return {.moments = 0};
    case Optimizer::kPagedAdamW: return {.is_paged = true};
    case Optimizer::kPagedAdamW8Bit: return {.has_8_bits = true, .is_paged = true};
  }
  return {};
}

/// What one optimizer step trains on.
struct Batch {
  std::int64_t micro_batch = 1;      ///< sequences (samples for an MLP) that a rank computes at a time
  std::int64_t global_batch = 1;     ///< of all ranks, for one optimizer step
  std::int64_t sequence_length = 1;  ///< tokens; 1 for an MLP
  bool operator==(Batch const&) const = default;
};

/// Which kernels compute the model, and which of them run again before backward.
struct Kernels {
  /// Of compute. Parameters and gradients have it too unless `States` says otherwise.
  DataType precision = DataType::kBf16;
  bool flash_attention = true;
  Activation activation = Activation::kEager;
  CrossEntropy cross_entropy = CrossEntropy::kPlain;
  NormKernels norms = NormKernels::kFused;
  std::optional<DataType> linear_type;     ///< in which a block's linear layers multiply, if not the precision
  Scaling scaling = Scaling::kTensorWise;  ///< of numbers for `linear_type`
  Recompute recompute = Recompute::kNone;
  RecomputeScope recompute_scope;
  bool operator==(Kernels const&) const = default;
};

/// Where states that a GPU needs only now and then are kept.
struct Offload {
  OffloadPlace optimizer = OffloadPlace::kNone;  ///< and gradients of the own shard; the update runs on the CPU
  OffloadPlace parameters = OffloadPlace::kNone;
  bool activations = false;  ///< what a block keeps for its backward goes to host memory meanwhile
  bool operator==(Offload const&) const = default;
};

/// What is held between and after the passes: in which types, where, and what updates it.
struct States {
  /// In which parameters are held between steps; fp32 is what autocast and FSDP's mixed precision do. Each use casts.
  std::optional<DataType> parameter_type;
  /// Of the optimizer's masters and moments. Where it is the type that parameters are held in there are no masters.
  std::optional<DataType> master_type;
  std::optional<DataType> reduce_type;  ///< in which gradients cross the wire
  Optimizer optimizer = Optimizer::kAdamWFused;
  bool has_old_foreach = false;  ///< PyTorch's before 2.1, whose foreach AdamW makes a second temporary
  bool clips_gradients = false;  ///< by their norm over all ranks
  Offload offload;
  bool operator==(States const&) const = default;
};

/// How a model is trained, without a word about the machine.
struct Plan {
  Strategy strategy = StrategyName::kDdp;
  Parallel parallel;
  Batch batch;
  Kernels kernels;
  States states;
  bool operator==(Plan const&) const = default;
};

/// How the stages of a framework's pipeline exchange, unless it is told otherwise.
[[nodiscard]] constexpr PipelineExchange usual_exchange(Family family, Pipeline const& pipeline) {
  using enum PipelineSchedule;
  if (family == Family::kDeepSpeed) return PipelineExchange::kBlocking;
  auto const is_plain = pipeline.schedule == kOneForwardOneBackward || pipeline.schedule == kGpipe;
  return family == Family::kMegatron && is_plain ? PipelineExchange::kBatched : PipelineExchange::kOverlapped;
}

/// What `States::parameter_type` is where the user says nothing.
[[nodiscard]] constexpr std::optional<DataType> default_parameter_type(Strategy const& strategy, DataType precision) {
  auto const is_16_bit = size_of(precision) < size_of(DataType::kFp32);
  return strategy.traits().holds_fp32_parameters && is_16_bit ? std::optional{DataType::kFp32} : std::nullopt;
}

/// Type in which parameters are held between steps.
[[nodiscard]] constexpr DataType held_type(Plan const& plan) {
  return plan.states.parameter_type.value_or(plan.kernels.precision);
}

/// Ranks that share one copy of the states, and how many such copies there are.
[[nodiscard]] constexpr std::int64_t shard_ranks(Plan const& plan) {
  return plan.parallel.shard_group > 0 ? plan.parallel.shard_group : plan.parallel.data;
}
[[nodiscard]] constexpr std::int64_t replicas(Plan const& plan) {
  return plan.parallel.data / shard_ranks(plan);
}

/// Whether ranks hold shards of anything.
[[nodiscard]] constexpr bool is_sharded(Plan const& plan) {
  auto const* fsdp1 = plan.strategy.get_if<Fsdp1Options>();
  return plan.strategy.traits().is_sharded && (fsdp1 == nullptr || fsdp1->sharding != Fsdp1Options::Sharding::kNoShard);
}

/// Ranks of the inner groups that the plan cuts all ranks into: those that share states, or that a second shard of the
/// parameters is cut over (FSDP2's resharding, ZeRO++'s hpZ).
[[nodiscard]] constexpr std::int64_t inner_group(Plan const& plan) {
  auto const* fsdp2 = plan.strategy.get_if<Fsdp2Options>();
  if (fsdp2 != nullptr && fsdp2->reshard_after_forward > 1) return fsdp2->reshard_after_forward;
  auto const* deepspeed = plan.strategy.get_if<DeepSpeedOptions>();
  if (deepspeed != nullptr && deepspeed->stage == 3 && deepspeed->zero_hpz_partition_size > 1)
    return deepspeed->zero_hpz_partition_size;
  return shard_ranks(plan);
}

/// A plan that arithmetic rules out: an answer, not an error.
struct Infeasible {
  std::string reason;  ///< with the numbers
  std::string way_out;
};

/// Micro-batches of one optimizer step on one rank. Requires that the plan divides (see `find_obstacle`).
[[nodiscard]] constexpr std::int64_t accumulation(Plan const& plan) {
  return plan.batch.global_batch / (plan.batch.micro_batch * plan.parallel.data);
}

struct BucketLimits {
  Bytes first;
  Bytes others;
};

/// When buckets close, by the plan or by the defaults of the frameworks. DDP: 25 MiB, and 1 MiB for the first one so
/// that reduction starts early (PyTorch, torch/csrc/distributed/c10d/reducer.hpp). ZeRO: 5e8 elements (DeepSpeed,
/// deepspeed/runtime/zero/config.py, reduce_bucket_size).
[[nodiscard]] constexpr BucketLimits bucket_limits(DdpOptions const& options) {
  auto const others = options.bucket.value_or(Bytes{25 << 20});
  return {std::min(options.first_bucket.value_or(Bytes{1 << 20}), others), others};
}
[[nodiscard]] constexpr BucketLimits bucket_limits(TextbookOptions const& options, DataType precision) {
  auto const others = options.bucket.value_or(size_of(precision) * 500'000'000);
  return {std::min(options.first_bucket.value_or(others), others), others};
}

/// Type of the optimizer's master weights and moments.
[[nodiscard]] constexpr DataType master_type(Plan const& plan) {
  if (plan.kernels.precision == DataType::kFp64) return DataType::kFp64;
  if (plan.states.master_type) return *plan.states.master_type;
  return plan.strategy.traits().keeps_masters ? DataType::kFp32 : held_type(plan);
}

/// Whether the optimizer keeps a copy of the parameters of its own.
[[nodiscard]] constexpr bool has_master_copy(Plan const& plan) {
  return size_of(held_type(plan)) < size_of(master_type(plan));
}

}  // namespace twinstep::strategies

namespace twinstep {
template <>
struct EnumNames<strategies::Recompute> {
  static constexpr std::array<std::string_view, 4> values{"none", "full", "selective", "per-op"};
};
template <>
struct EnumNames<strategies::Optimizer> {
  static constexpr std::array<std::string_view, 7> values{
      "adamw-fused", "adamw-foreach", "adamw-8bit", "sgd-momentum", "sgd", "paged-adamw", "paged-adamw-8bit"};
};
}  // namespace twinstep
