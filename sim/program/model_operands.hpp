#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/program/operation.hpp"

/// How the operands of the functions that transformers compute stand in their lists (see `Function`), and how long they
/// must be.
namespace twinstep::program {

/// Of a norm, forward or backward: inputs, then a list (results, or gradients of results), then the rest. Whether there
/// is a bias follows from how many elements the list has.
struct NormOperands {
  bool has_bias = false;
  std::size_t first = 0;  ///< of the list
  std::size_t end = 0;
};
/// Requires sizes of operands that fit the function.
[[nodiscard]] NormOperands norm_operands(Function function, std::span<std::int64_t const> sizes);

/// What a rotation does to each of its tensors.
struct Rotation {
  std::int64_t rows = 0;
  std::int64_t rotated = 0;  ///< numbers at the beginning of a head
};
/// Requires `heads` and sizes that fit; `tensors` are those of the inputs.
[[nodiscard]] Rotation rotation(Elementwise const& kernel, std::int64_t elements,
                                std::span<std::int64_t const> tensors);

/// Whether operands of these sizes fit a function that transformers compute, on `elements` elements.
[[nodiscard]] bool fits(Elementwise const& kernel, std::int64_t elements, std::span<std::int64_t const> sizes);

/// … fused attention.
[[nodiscard]] bool fits(Attention const& attention, std::span<std::int64_t const> sizes);

}  // namespace twinstep::program
