#pragma once

#include <cstdint>
#include <string>

#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {

/// Writes the cross-entropy of a matrix of logits. Only the files that describe models use it.
///
/// Bytes for each logit in 16 bits. Plain: forward casts the logits, 2 and 4, and keeps the log-probabilities in fp32,
/// 4; backward holds these, the gradient of the picked ones, which is as large, and that of the logits, 12, before it
/// casts that to 2. Nothing else reads the logits, and a training loop that is short of memory drops them. Fused: one
/// kernel reads the logits twice and writes their gradient, 6; backward scales it by the gradient of the loss, 4: moved
/// are 10, alive 6. Sources: autograd's rules for torch.nn.functional.cross_entropy; kernels that return the gradient
/// from forward (Liger, arXiv 2410.10989, section 3.2).
///
/// Ranks that share the vocabulary compare each token's largest logit and add up its picked logits and sums of
/// exponentials, an fp32 number a token each, between three passes over their own logits. Source: Megatron-LM,
/// tensor_parallel/cross_entropy.py, VocabParallelCrossEntropy.
class LossWriter {
 public:
  using Pass = UnitWriter::Pass;

  /// Makes the slot of the logits; `targets` are those of their rows. The loss's own forward runs in `when`: in
  /// backward logits are made, used and dropped.
  LossWriter(UnitWriter& writer, std::string name, SlotAccess targets, std::int64_t logits, Pass when);

  [[nodiscard]] std::int32_t logits() const { return logits_; }
  /// Requires the kernel that writes the logits to stand before.
  void forward();
  /// Returns the slot of the logits' gradient.
  std::int32_t backward();

 private:
  [[nodiscard]] bool is_fused() const;
  [[nodiscard]] bool is_16_bit() const;
  std::int32_t slot(std::string_view name, SlotKind kind, DataType type);
  [[nodiscard]] program::Elementwise kernel(program::Function function, std::int32_t bytes) const;
  void write(std::string const& name, program::Elementwise const& work, UnitWriter::Accesses accesses,
             std::uint32_t launches);
  void write_over_ranks(std::int32_t bytes, UnitWriter::Accesses const& accesses);

  UnitWriter& w_;
  std::string name_;
  SlotAccess targets_;
  std::int64_t count_;
  Pass when_;
  SlotKind kept_;  ///< kind of what forward makes for backward
  std::int32_t logits_ = -1;
  std::int32_t result_ = -1;  ///< of forward: the log-probabilities, or fused the unscaled gradient
};

}  // namespace twinstep::strategies
