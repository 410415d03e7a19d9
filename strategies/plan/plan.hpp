#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/data_type.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"

namespace twinstep::strategies {

/// How data-parallel ranks share the states of training.
enum class StrategyName : std::uint8_t {
  kNaive,  ///< replicas; one all-reduce for each gradient tensor after the backward pass
  kDdp,    ///< replicas; buckets of gradients are reduced while the backward pass goes on
  kZero1,  ///< optimizer state sharded
  kZero2,  ///< and gradients
  kZero3   ///< and parameters
};

enum class Recompute : std::uint8_t {
  kNone,
  kFull  ///< every repeated layer keeps its input alone and runs its forward again before its backward
};

/// How a model is trained, without a word about the machine.
struct Plan {
  StrategyName strategy = StrategyName::kDdp;
  Recompute recompute = Recompute::kNone;
  std::int64_t ranks = 1;            ///< data-parallel
  std::int64_t micro_batch = 1;      ///< sequences (samples for an MLP) that a rank computes at a time
  std::int64_t global_batch = 1;     ///< of all ranks, for one optimizer step
  std::int64_t sequence_length = 1;  ///< tokens; 1 for an MLP
  /// Of compute, parameters and gradients; below fp32 the optimizer keeps fp32 masters.
  DataType precision = DataType::kBf16;
  bool flash_attention = true;
  std::optional<Bytes> bucket;        ///< a bucket of gradients closes when it holds this much; see `bucket_limits`
  std::optional<Bytes> first_bucket;  ///< the first bucket of a step likewise

  bool operator==(Plan const&) const = default;
};

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
  return master_type(plan) != plan.precision;
}

}  // namespace twinstep::strategies

namespace twinstep {
template <>
struct EnumNames<strategies::StrategyName> {
  static constexpr std::array<std::string_view, 5> values{"naive", "ddp", "zero-1", "zero-2", "zero-3"};
};
template <>
struct EnumNames<strategies::Recompute> {
  static constexpr std::array<std::string_view, 2> values{"none", "full"};
};
}  // namespace twinstep
