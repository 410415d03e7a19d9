#pragma once

#include <cstdint>

#include "sim/base/collective_kind.hpp"
#include "sim/base/enum_names.hpp"

/// The closed sets of words that programs, timelines and reports share.
namespace twinstep::program {

enum class Reduction : std::uint8_t { kSum, kAverage, kMax, kMin };

enum class CopyDirection : std::uint8_t { kDeviceToDevice, kHostToDevice, kDeviceToHost, kHostToNvme, kNvmeToHost };

/// What a memory-bound kernel computes. The operands are the accesses of its operation, in the order given here; one in
/// brackets may be missing. `scalar` is the number that the operation carries, `rows` are the sizes that the operands
/// do not tell. Where an operand is a list, it is one or several tensors that follow each other: together as long as
/// the operation. With `accumulate`, what a function gives for a parameter is added to what is there.
///
/// Tensors are row-major: a row is a token, in it heads stand side by side.
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

  // What transformers compute.
  kAddTo,         ///< sum += in; operands in, sum
  kRelu,          ///< out = max(0, in)
  kReluBackward,  ///< out = gradient where relu(in) > 0; operands relu(in), gradient, out
  kGate,          ///< out = silu(gate) * up; operands gate, up, [silu(gate)], out
  kGateBackward,  ///< operands gradient, gate, up, [silu(gate)], gradients of gate and of up

  kGatherRows,   ///< row i of out = row ids[i] of table; operands ids, table, out. A row of zeros where the table has
                 ///< no such row: another rank has it
  kScatterRows,  ///< row ids[i] of table += row i of in, if the table has it; operands in, ids, table
  kAddRepeated,  ///< out = a + [b] + repeated[i mod p], p being the width, times the sequence if there is one; operands
                 ///< a, [b], repeated, out
  kSumRepeated,  ///< sums[j] = Σ in[i] over i mod p = j, and zeros behind; operands in, sums
  kJoinColumns,  ///< rows of out = rows of the parts side by side; operands parts, out. Needs the width of out's rows

  kRmsNorm,  ///< out = in / √(mean in² + scalar) * weight by rows as long as the weight; operands in, weight,
             ///< out (a list), statistics (the factor of each row)
  kRmsNormBackward,    ///< operands in, statistics, weight, gradients (a list), gradients of in and of weight
  kLayerNorm,          ///< out = (in - mean) / √(variance + scalar) * weight + [bias]; operands in, weight, [bias],
                       ///< out (a list), statistics (mean and factor of each row)
  kLayerNormBackward,  ///< operands in, statistics, weight, gradients (a list), gradients of in, weight, [bias]

  kRotate,      ///< rotary positions with base `scalar`, halves of each head's first numbers paired; operands in (one
                ///< or several tensors), as many out. `rows`: the width of a row over all tensors, how many heads of
                ///< it are rotated (the others are copied), their size, the sequence. elements = numbers rotated
  kRotateBack,  ///< the inverse, in place; operands one or several tensors
  kSplitHeads,  ///< each head's rows in one piece, keys and values repeated for each query head; operands queries,
                ///< keys, values, or all in one, then the three results. Needs sequence, heads, head_size
  kMergeHeads,  ///< sums over the repetitions, back to rows of tokens; operands key and value gradients by heads, by
                ///< tokens. Needs sequence, heads, head_size
  kSoftmax,     ///< out = softmax(scalar * in) by rows of `width`, of which row i of a sequence has the first i + 1;
                ///< operands in, out
  kSoftmaxBackward,  ///< operands out, its gradient, gradient of in

  kCrossEntropy,          ///< log-probabilities by rows; operands logits, targets, [a copy of the logits], result
  kCrossEntropyBackward,  ///< of scalar * Σ rows' cross-entropy; operands targets, log-probabilities, gradients of
                          ///< the log-probabilities and of the logits. No target in a row: it belongs to another rank
  kFusedCrossEntropy,     ///< softmax - target; operands logits, targets, unscaled gradient
  kFusedCrossEntropyBackward,  ///< gradient = scalar * unscaled; operands logits, targets, unscaled, gradient
  // The forward of both where ranks share the vocabulary: a number a row is compared or added up between these.
  kRowMaximum,        ///< operands logits, largest
  kCrossEntropyPart,  ///< result = logits - largest; operands logits, targets, [a copy of the logits], result, largest,
                      ///< the target's result or 0, Σ exp(result)
  kCrossEntropyJoin,  ///< result -= log(sum); operands targets, the target's, sum, result
  kFusedCrossEntropyPart,  ///< result = exp(logits - largest); operands as above
  kFusedCrossEntropyJoin,  ///< result = result / sum - target; operands as above

  // What only has a cost: the data-carrying executors refuse it.
  kAdamW8Bit,  ///< AdamW on moments of 8 bits
  kCostOnly    ///< any other: dropout, batch norm, norms written out, quantization
};

[[nodiscard]] constexpr bool only_costs(Function function) {
  return function >= Function::kAdamW8Bit;
}

/// Whether it is one of those that transformers compute.
[[nodiscard]] constexpr bool is_of_transformer(Function function) {
  return function >= Function::kAddTo && !only_costs(function);
}

/// Whose kernels a memory-bound kernel is one of: a software stack runs each family at another share of the memory's
/// bandwidth.
enum class KernelFamily : std::uint8_t {
  kStrategy,  ///< copies, sums and optimizers around the model
  kModel,
  kLoss
};

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
  static constexpr std::array<std::string_view, 42> values{"fill",
                                                           "scale",
                                                           "add",
                                                           "gelu",
                                                           "gelu_backward",
                                                           "squared_error",
                                                           "adamw",
                                                           "sgd_momentum",
                                                           "sgd",
                                                           "squared_norm",
                                                           "clip",
                                                           "add_to",
                                                           "relu",
                                                           "relu_backward",
                                                           "gate",
                                                           "gate_backward",
                                                           "gather_rows",
                                                           "scatter_rows",
                                                           "add_repeated",
                                                           "sum_repeated",
                                                           "join_columns",
                                                           "rms_norm",
                                                           "rms_norm_backward",
                                                           "layer_norm",
                                                           "layer_norm_backward",
                                                           "rotate",
                                                           "rotate_back",
                                                           "split_heads",
                                                           "merge_heads",
                                                           "softmax",
                                                           "softmax_backward",
                                                           "cross_entropy",
                                                           "cross_entropy_backward",
                                                           "fused_cross_entropy",
                                                           "fused_cross_entropy_backward",
                                                           "row_maximum",
                                                           "cross_entropy_part",
                                                           "cross_entropy_join",
                                                           "fused_cross_entropy_part",
                                                           "fused_cross_entropy_join",
                                                           "adamw_8bit",
                                                           "cost_only"};
};
template <>
struct EnumNames<program::KernelFamily> {
  static constexpr std::array<std::string_view, 3> values{"strategy", "model", "loss"};
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
