#pragma once

#include <cstdint>
#include <span>

#include "sim/program/step_program.hpp"
#include "validate/cpu/numbers.hpp"

namespace twinstep::cpu {

/// How many operands `function` takes, in the order that `program::Function` documents: an optimizer's model copy is
/// optional, and a list may be any number of tensors.
struct OperandCount {
  std::size_t least = 0;
  std::size_t most = 0;
};
[[nodiscard]] OperandCount operands_of(program::Function function);

/// Optimizer settings and which step, counted from 1.
struct AdamWStep {
  program::AdamWSettings settings;
  std::int64_t step = 1;
};

/// Computes a memory-bound kernel on its operands, in their type; of two types, in double, rounding what it writes. An
/// output may be an input. Requires a function that computes, its operands, and equally many elements in each; in a
/// list of tensors, altogether (see program::tensor_list). What transformers compute is in model_kernels.hpp.
///
/// GELU is x Φ(x), its slope Φ(x) + x φ(x), with Φ and φ the normal distribution and its density (Hendrycks and Gimpel,
/// arXiv 1606.08415); in fp32 they are within 1e-7 (see `normal_at`). AdamW: Loshchilov and Hutter, arXiv 1711.05101,
/// algorithm 2, with the decay scaled by the learning rate as in torch.optim.AdamW. SGD: torch.optim.SGD without
/// dampening. Clipping: torch.nn.utils.clip_grad_norm_.
void compute(program::Elementwise const& kernel, std::span<Numbers const> operands, AdamWStep const& adamw);

/// C = A · B, or C += A · B, by BLAS on the calling thread. Requires operands of the GEMM's type and size.
void multiply(program::Gemm const& gemm, Numbers a, Numbers b, Numbers c);
/// Adds a bias to each row of C.
void add_bias(Numbers bias, Numbers c);

/// Fused attention or its gradient, query by query in double. Requires operands that fit (`program::fits`).
void attend(program::Attention const& attention, std::span<Numbers const> operands);

}  // namespace twinstep::cpu
