#pragma once

#include <span>

#include "sim/program/operation.hpp"
#include "validate/cpu/numbers.hpp"

/// The kernels of transformers, one file a kind. All compute in double, element by element, and round what they write;
/// operands are those of `program::Function`, in its order. Requires operands that fit (`program::fits`).
namespace twinstep::cpu {

using Operands = std::span<Numbers const>;

/// Computes one of them. Requires `elements` evaluated for the rank.
void compute_of_transformer(program::Elementwise const& kernel, Operands operands);

// activations.cpp
void add_to(Operands operands);
void relu(Operands operands);
void relu_backward(Operands operands);
void gate(Operands operands);
void gate_backward(Operands operands);

// rows.cpp
void gather_rows(Operands operands);
void scatter_rows(Operands operands);
void add_repeated(std::size_t period, Operands operands);
void sum_repeated(std::size_t period, bool accumulate, Operands operands);
void join_columns(std::size_t width, Operands operands);

// norms.cpp
void norm(program::Elementwise const& kernel, Operands operands);
void norm_backward(program::Elementwise const& kernel, Operands operands);

// rotary.cpp
void rotate(program::Elementwise const& kernel, std::int64_t elements, Operands operands);

// heads.cpp
void split_heads(program::RowShape const& rows, Operands operands);
void merge_heads(program::RowShape const& rows, Operands operands);
void softmax(program::Elementwise const& kernel, Operands operands);
void softmax_backward(program::Elementwise const& kernel, Operands operands);

// cross_entropy.cpp
void cross_entropy(Operands operands);
void cross_entropy_backward(double scale, Operands operands);
void fused_cross_entropy(Operands operands);
void fused_cross_entropy_backward(double scale, Operands operands);
void row_maximum(Operands operands);
void cross_entropy_part(bool is_fused, Operands operands);
void cross_entropy_join(bool is_fused, Operands operands);

}  // namespace twinstep::cpu
