#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/data_type.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "sim/program/operation.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/model/shape.hpp"

/// The work of a model as data: which kernels one micro-batch launches on which tensors, unit by unit. A strategy
/// turns it into operations on buffers and adds the communication; it never asks what the model is.
namespace twinstep::strategies {

/// A tensor's part in the computation of one unit.
enum class SlotKind : std::uint8_t {
  kInput,           ///< the output of the unit before
  kOutput,          ///< the input of the unit after
  kInputGradient,   ///< the output gradient of the unit before
  kOutputGradient,  ///< the input gradient of the unit after
  kParameter,
  kParameterGradient,
  kSaved,      ///< written by forward and kept for backward
  kTemporary,  ///< lives inside forward, or inside backward
  kData        ///< of the batch, there before the step: token ids, inputs, targets
};

/// A tensor of one unit's computation.
struct Slot {
  std::string name;
  SlotKind kind = SlotKind::kTemporary;
  std::int64_t elements = 0;  ///< of one micro-batch on one rank; of the whole tensor for parameters
  DataType type = DataType::kBf16;
  program::MemoryCategory category = program::MemoryCategory::kActivations;
  std::int32_t parameter = -1;  ///< for kParameter and kParameterGradient: the index into the owner's tensors
  std::int32_t owner = -1;      ///< the kind whose tensor it is when it is not this unit's own: a tied head uses the
                                ///< embedding's matrix and adds to its gradient
  bool operator==(Slot const&) const = default;
};

[[nodiscard]] constexpr bool is_of_parameter(Slot const& slot) {
  return slot.kind == SlotKind::kParameter || slot.kind == SlotKind::kParameterGradient;
}

struct SlotAccess {
  std::int32_t slot = 0;
  program::AccessMode mode = program::AccessMode::kRead;
  std::int64_t begin = 0;      ///< the part of the slot that is meant
  std::int64_t elements = -1;  ///< -1: all from `begin` on
  bool operator==(SlotAccess const&) const = default;
};

/// A collective among the ranks that share the work of a unit. The accesses of its kernel are what is sent and what is
/// received; it is as large as the larger of them.
struct UnitCollective {
  std::string group;  ///< which ranks, by the name that the step gives them: "tensor"
  CollectiveKind kind = CollectiveKind::kAllReduce;
  program::Reduction reduction = program::Reduction::kSum;
  bool operator==(UnitCollective const&) const = default;
};

/// One kernel. The accesses stand in the order that its work documents.
struct Kernel {
  std::string name;  ///< "attention.query.forward"
  program::Work work;
  std::vector<SlotAccess> accesses;
  std::uint32_t launches = 1;
  std::optional<UnitCollective> collective = {};  ///< in place of `work`, which is then an empty communication
  bool operator==(Kernel const&) const = default;
};

/// The work of one unit on one micro-batch. A gradient of a parameter is written by the first kernel that touches
/// it, so a strategy that accumulates over micro-batches turns that write into an update (`accumulate` of its work).
/// Exception: a tied embedding's gradient, which the head has written before, is updated.
struct UnitWork {
  std::string name;  ///< "embedding", "layer", "head"
  std::vector<Tensor> parameters;
  std::vector<Slot> slots;
  std::vector<Kernel> forward;
  std::vector<Kernel> backward;  ///< that of the last unit starts from the loss and has no output gradient
};

/// Which backward kernels, by index, only make gradients of parameters: no input gradient waits for them, so a schedule
/// may run them later than the others. A kernel that makes both kinds is not one of them.
[[nodiscard]] std::vector<bool> weight_gradient_kernels(UnitWork const& unit);

/// One unit of the model: which kind of work, and which layer it is (-1 if there is only one such unit).
struct UnitRef {
  std::int32_t kind = 0;
  std::int32_t index = -1;
  bool operator==(UnitRef const&) const = default;
};

struct ModelWork {
  std::vector<UnitWork> kinds;  ///< units that are alike share one entry
  std::vector<UnitRef> units;   ///< in forward order
  std::int64_t tokens_per_micro_batch = 0;
  /// Forward and backward without recomputation, in the usual convention of MFU: 6 N + 12 L (heads * head_size) s
  /// for each token, where N counts every parameter and attention is counted in full, causal or not (Chowdhery et
  /// al., PaLM, arXiv 2204.02311, appendix B). An MLP has the first term only; a CNN has three times its forward.
  Flops model_flops_per_micro_batch;
  std::int64_t buffer_elements = 0;  ///< of the whole model; see `buffer_elements(ModelSpec const&)`

  [[nodiscard]] UnitWork const& work(UnitRef unit) const { return kinds[static_cast<std::size_t>(unit.kind)]; }
};

/// Bytes that cast, cross-entropy and their gradients move for each token and vocabulary entry in plain PyTorch; 20-35
/// observed, fused kernels need about 10. Source: fits of open training records (Megatron, llm-foundry, torchtitan).
inline constexpr std::int32_t kCrossEntropyForwardBytes = 12;
inline constexpr std::int32_t kCrossEntropyBackwardBytes = 13;

/// The work of a model on one micro-batch. Cost O(1) in the layers except for `units`.
/// Requires micro_batch >= 1 and sequence_length >= 1.
///
/// Kernels are those of eager PyTorch with fused norms; the bytes of memory-bound kernels are the least that such
/// kernels move, and a cost model scales them. Kept tensors are those that autograd saves.
[[nodiscard]] ModelWork work_of(ModelSpec const& model, Shape const& shape);

/// "layer.17", "head".
[[nodiscard]] std::string unit_name(ModelWork const& model, UnitRef unit);

/// Floating-point operations of one unit and micro-batch, as the kernels do them: causal attention counts the half of
/// the scores that it computes.
struct UnitFlops {
  Flops forward;
  Flops backward;
  Flops recompute;  ///< of the kernels that `kernels_to_recompute` lists
};
[[nodiscard]] UnitFlops flops_of(UnitWork const& unit);

/// The forward kernels, by index, that make the saved tensors again from the unit's input, as recomputation in
/// backward needs them. What only leads to the unit's output is left out: non-reentrant checkpointing stops as soon
/// as it has what backward reads (torch.utils.checkpoint, `early_stop`).
[[nodiscard]] std::vector<std::size_t> kernels_to_recompute(UnitWork const& unit);
/// The same where the slots `kept` stay from forward (strategies/model/kept.hpp): what only leads to them is left out.
[[nodiscard]] std::vector<std::size_t> kernels_to_recompute(UnitWork const& unit, std::vector<bool> const& kept);

/// One tensor that a unit keeps from its forward to its backward.
struct SavedTensor {
  std::string name;
  Bytes bytes;
};

/// What a unit keeps for its backward: its saved slots, and its input where backward reads it. The batch's data and
/// the parameters, which live anyway, are not listed.
[[nodiscard]] std::vector<SavedTensor> saved_tensors(UnitWork const& unit);
[[nodiscard]] Bytes saved_bytes(UnitWork const& unit);

}  // namespace twinstep::strategies

namespace twinstep {

template <>
struct EnumNames<strategies::SlotKind> {
  static constexpr std::array<std::string_view, 9> values{"input",           "output",    "input_gradient",
                                                          "output_gradient", "parameter", "parameter_gradient",
                                                          "saved",           "temporary", "data"};
};

}  // namespace twinstep
