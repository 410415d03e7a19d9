#pragma once

#include <cstdint>

#include "sim/base/collective_kind.hpp"
#include "sim/base/enum_names.hpp"

/// The closed sets of words that programs, timelines and reports share.
namespace twinstep::program {

enum class Reduction : std::uint8_t { kSum, kAverage, kMax, kMin };

enum class CopyDirection : std::uint8_t { kDeviceToDevice, kHostToDevice, kDeviceToHost, kHostToNvme, kNvmeToHost };

/// What a memory-bound kernel computes. The operands are the accesses of its operation, in the order given here;
/// `scalar` is the number that the operation carries. Where an operand is a list, it is one or several tensors that
/// follow each other (PyTorch's multi-tensor kernels): together as long as the operation. `kTransformer` stands for the
/// kernels of a transformer that only have a cost (norms, rotary embedding, gates), `kCrossEntropy` for its loss,
/// `kAdamW8Bit` for AdamW on moments of 8 bits: the data-carrying executor refuses them.
enum class Function : std::uint8_t {
  kFill,          ///< out = scalar
  kScale,         ///< out = scalar * in; also a copy or a cast
  kAdd,           ///< out = a + b
  kGelu,          ///< out = gelu(in), exact (erf) form
  kGeluBackward,  ///< out = gradient * gelu'(in); operands in, gradient, out
  kSquaredError,  ///< gradient = scalar * (prediction - target); operands prediction, target, gradient
  kAdamW,         ///< decoupled weight decay; operands master, gradients (a list), first moment, second moment, and
                  ///< a model copy if the master is not the model itself
  kSgdMomentum,   ///< v = beta1 v + (g + decay w), w -= rate v, with AdamW's settings; operands master, gradients
                  ///< (a list), momentum, model copy if there is one
  kSgd,           ///< w -= rate (g + decay w); operands master, gradients (a list), model copy if there is one
  kSquaredNorm,   ///< norm += Σ in²; operands in (a list), norm (one number)
  kClip,          ///< x *= min(1, scalar / (√norm + 1e-6)); operands norm (one number), x (a list)
  kTransformer,
  kCrossEntropy,
  kAdamW8Bit
};

[[nodiscard]] constexpr bool only_costs(Function function) {
  return function >= Function::kTransformer;
}

[[nodiscard]] constexpr bool is_optimizer(Function function) {
  using enum Function;
  return function == kAdamW || function == kSgdMomentum || function == kSgd || function == kAdamW8Bit;
}

/// What a training step does with a unit of the model. Scopes end in these words: "layer.17.backward".
enum class Pass : std::uint8_t {
  kNone,  ///< nothing of these: work that is no training, or that the passes share
  kForward,
  kRecompute,       ///< forward again, for its activations
  kBackward,        ///< gradients of inputs and, where nothing splits them off, of weights
  kWeightGradient,  ///< split off from backward
  kUpdate
};

/// Whether it is part of going back through the model.
[[nodiscard]] constexpr bool goes_back(Pass pass) {
  return pass == Pass::kRecompute || pass == Pass::kBackward || pass == Pass::kWeightGradient;
}

/// What memory holds, in the words of the ledger.
enum class MemoryCategory : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizer,
  kActivations,
  kLogits,
  kGatheredParameters,
  kBuckets,
  kInputs,
  kWorkspace,
  kCollectiveLibrary,
  kContext,
  kFragmentation  ///< what the caching allocator holds beyond what is allocated
};

enum class MemorySpace : std::uint8_t { kDevice, kHost, kNvme };

/// What a span of a timeline was busy with.
enum class WorkKind : std::uint8_t {
  kGemm,
  kAttention,
  kElementwise,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kPointToPoint,
  kGroup,  ///< several communications as one operation
  kCopy,
  kDelay,
  kHost
};

[[nodiscard]] constexpr bool is_communication(WorkKind kind) {
  return kind >= WorkKind::kAllReduce && kind <= WorkKind::kGroup;
}
[[nodiscard]] constexpr bool is_compute(WorkKind kind) {
  return kind <= WorkKind::kElementwise || kind == WorkKind::kDelay;
}
[[nodiscard]] constexpr WorkKind work_kind(CollectiveKind kind) {
  return static_cast<WorkKind>(static_cast<int>(WorkKind::kAllReduce) + static_cast<int>(kind));
}

}  // namespace twinstep::program

namespace twinstep {

template <>
struct EnumNames<program::Pass> {
  static constexpr std::array<std::string_view, 6> values{"none",     "forward",         "recompute",
                                                          "backward", "weight_gradient", "optimizer"};
};
template <>
struct EnumNames<program::Reduction> {
  static constexpr std::array<std::string_view, 4> values{"sum", "average", "max", "min"};
};
template <>
struct EnumNames<program::CopyDirection> {
  static constexpr std::array<std::string_view, 5> values{"device_to_device", "host_to_device", "device_to_host",
                                                          "host_to_nvme", "nvme_to_host"};
};
template <>
struct EnumNames<program::Function> {
  static constexpr std::array<std::string_view, 14> values{
      "fill",         "scale", "add",          "gelu", "gelu_backward", "squared_error", "adamw",
      "sgd_momentum", "sgd",   "squared_norm", "clip", "transformer",   "cross_entropy", "adamw_8bit"};
};
template <>
struct EnumNames<program::MemoryCategory> {
  static constexpr std::array<std::string_view, 12> values{
      "parameters", "gradients", "optimizer", "activations",        "logits",  "gathered_parameters",
      "buckets",    "inputs",    "workspace", "collective_library", "context", "fragmentation"};
};
template <>
struct EnumNames<program::MemorySpace> {
  static constexpr std::array<std::string_view, 3> values{"device", "host", "nvme"};
};
template <>
struct EnumNames<program::WorkKind> {
  static constexpr std::array<std::string_view, 16> values{
      "gemm",   "attention", "elementwise", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
      "gather", "scatter",   "all_to_all",  "send_recv",  "group",      "copy",           "delay",     "host"};
};

}  // namespace twinstep
