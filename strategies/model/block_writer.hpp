#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/model/transformer_layout.hpp"
#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {

/// One of the projections that feed attention: queries, keys, values, or all three at once.
struct Projection {
  std::string name;    ///< "attention.query"
  std::string tensor;  ///< "self_attn.q_proj"
  std::int64_t width = 0;
  std::string norm;  ///< of each head, or empty
  bool is_rotated = false;
  std::int32_t unrotated = -1;  ///< what the GEMM or the norm behind it writes
  std::int32_t attended = -1;   ///< what attention reads
  SavedNorm saved_norm = {};
};

/// Writes the kernels of
///     middle = input + attention(norm(input)),  output = middle + mlp(norm(middle)),
/// where parallel branches both read the input.
///
/// Passes over memory, each over the kernel's own width: norms 2 forward and 5 backward, residual adds 3 and 3, GELU 2
/// and 3, gate 5 and 8 (fused 3 and 5), rotary 6 and 6, joining the gradients of a fused projection 2. Source: the
/// operands of eager PyTorch's kernels, counted. In 16 bits a GPT block without dropout and biases moves 36 h bytes a
/// token forward and 68 h backward; with one factor for the software stack that fits open training records.
/// Kept tensors follow autograd's rules (Korthikanti et al., arXiv 2205.05198, section 4.1).
class BlockWriter {
 public:
  BlockWriter(Transformer const& model, std::vector<Tensor> parameters, Shape const& shape);
  UnitWork write() &&;

 private:
  // The first half: attention_work.cpp, and its core in attention_core_work.cpp.
  void attention_forward();
  [[nodiscard]] std::vector<Projection> projections() const;
  void project();
  void rotate();
  void flash_forward();
  void unfused_forward();
  void attention_backward();
  void flash_backward(std::int32_t gradient);
  void unfused_backward(std::int32_t gradient);
  void project_backward();
  // The second half: gate_work.cpp.
  void mlp_forward();
  void multiply_gate();
  void mlp_backward();
  void multiply_gate_backward(std::int32_t gradient, std::int32_t gate_gradient, std::int32_t up_gradient);
  // Both: block_work.cpp.
  std::int32_t leave_branch(std::string const& name, std::string const& tensor, std::int32_t in);
  std::int32_t residual(std::string const& name, std::string const& tensor, std::int32_t branch, std::int32_t skip,
                        std::int32_t sum);
  std::int32_t branch_gradient(std::string const& name, std::int32_t gradient, std::int32_t mask);
  void add_to_gradient(std::string const& name, std::int32_t sum, std::int32_t part);

  /// A linear layer that reads a branch's normed input, and may have a norm behind it.
  struct BranchEntry {
    std::string name;
    std::string tensor;
    std::int32_t out_gradient = -1;
    std::string norm = {};
    SavedNorm saved_norm = {};
  };
  void norm_backward(BranchEntry& layer);
  std::int32_t enter_branch_backward(std::string const& name, std::int32_t part, std::int32_t gathered,
                                     std::vector<BranchEntry> layers);

  [[nodiscard]] program::Attention attention(bool backward) const;
  [[nodiscard]] std::int32_t heads() const { return static_cast<std::int32_t>(model_.heads); }
  [[nodiscard]] program::Gemm score_gemm(std::int64_t n, std::int64_t k) const;
  [[nodiscard]] program::Elementwise heads_kernel(program::Function function, std::int64_t elements) const;
  [[nodiscard]] program::Elementwise softmax(program::Function function, std::int64_t elements, int passes) const;
  [[nodiscard]] std::int64_t rotated_elements() const;
  [[nodiscard]] program::Elementwise rotation(program::Function function, std::int64_t width) const;
  /// What becomes of a tensor that only a norm reads: a norm that is written out keeps a copy instead.
  [[nodiscard]] SlotKind kept_by_norm(Norm kind) const {
    return w_.is_eager(kind) ? SlotKind::kTemporary : SlotKind::kSaved;
  }
  /// … of a branch's normed input: linear layers keep it, or what was gathered of it.
  [[nodiscard]] SlotKind kept_by_branch() const {
    auto const& split = w_.shape().split;
    return split.sequence && !split.hides_collectives ? SlotKind::kTemporary : SlotKind::kSaved;
  }
  std::int32_t temporary(std::string_view name, std::int64_t elements) {
    return w_.slot(name, SlotKind::kTemporary, elements);
  }

  Transformer const& model_;
  TransformerModules modules_;
  UnitWriter w_;
  std::int64_t hidden_ = 0;  ///< elements of [tokens, hidden], of the tokens that the rank has between linear layers
  std::int64_t whole_ = 0;   ///< … of all tokens
  std::int64_t ffn_ = 0;
  std::vector<Projection> projections_;
  std::int32_t input_ = -1, middle_ = -1;
  std::int32_t output_gradient_ = -1, middle_gradient_ = -1, input_gradient_ = -1;
  std::int32_t first_normed_ = -1, second_normed_ = -1;
  std::int32_t first_gathered_ = -1, second_gathered_ = -1;  ///< of all tokens
  SavedNorm first_saved_, second_saved_;
  std::int32_t context_ = -1, log_sum_exp_ = -1, attention_mask_ = -1, mlp_mask_ = -1;
  // Unfused attention only: each head's rows in one piece, and the score matrix.
  std::int32_t query_ = -1, key_ = -1, value_ = -1;
  std::int32_t probabilities_ = -1, score_mask_ = -1, dropped_ = -1;
  std::int32_t query_gradient_ = -1, key_gradient_ = -1, value_gradient_ = -1;
  std::int32_t gate_ = -1, up_ = -1, activated_gate_ = -1, activated_ = -1;
};

}  // namespace twinstep::strategies
