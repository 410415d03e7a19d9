#pragma once

#include <cstddef>
#include <optional>

#include "sim/program/kinds.hpp"

namespace twinstep::program {

/// A stretch of an operation's operands.
struct OperandRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Which of `operands` operands are the list of tensors that `function` takes, if it takes one. In an optimizer these
/// are the gradients: from the second operand on as many as it takes to cover the first, the stretch that it updates.
/// `elements_of(i)` are those of operand i on one rank.
template <class ElementsOf>
[[nodiscard]] std::optional<OperandRange> tensor_list(Function function, std::size_t operands,
                                                      ElementsOf const& elements_of) {
  if (operands < 2) return std::nullopt;
  if (function == Function::kSquaredNorm) return OperandRange{0, operands - 1};
  if (function == Function::kClip) return OperandRange{1, operands - 1};
  if (!is_optimizer(function) || only_costs(function)) return std::nullopt;
  auto uncovered = elements_of(0);
  auto count = std::size_t{1};
  for (uncovered -= elements_of(1); count + 1 < operands && (uncovered > 0 || elements_of(count + 1) == 0); ++count)
    uncovered -= elements_of(count + 1);
  return OperandRange{1, count};
}

}  // namespace twinstep::program
