#include <cmath>
#include <vector>

#include "sim/program/model_operands.hpp"
#include "validate/cpu/model_kernels.hpp"

namespace twinstep::cpu {
namespace {

/// Rotates the pair (i, i + rotated / 2) of a head at position p by p · base^(-2 i / rotated).
/// Source: Su et al., RoFormer, arXiv 2104.09864; the pairs are those of transformers' rotate_half.
void rotate_head(Numbers in, Numbers out, std::size_t rotated, double position, double base) {
  auto const half = rotated / 2;
  for (std::size_t i = 0; i < half; ++i) {
    auto const angle = position * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rotated));
    auto const [a, b] = std::pair{in[i], in[i + half]};
    out.set(i, a * std::cos(angle) - b * std::sin(angle));
    out.set(i + half, b * std::cos(angle) + a * std::sin(angle));
  }
  for (auto i = rotated; i < in.size(); ++i) out.set(i, in[i]);
}

}  // namespace

void rotate(program::Elementwise const& kernel, std::int64_t elements, Operands operands) {
  auto const goes_back = kernel.function == program::Function::kRotateBack;
  auto const count = goes_back ? operands.size() : operands.size() / 2;
  auto sizes = std::vector<std::int64_t>{};
  for (auto const& operand : operands.first(count)) sizes.push_back(static_cast<std::int64_t>(operand.size()));
  auto const [rows, rotated] = program::rotation(kernel, elements, sizes);
  auto const head_size = static_cast<std::size_t>(kernel.rows.head_size);
  auto heads = static_cast<std::size_t>(kernel.rows.heads);  // that are left to rotate
  for (std::size_t t = 0; t < count; ++t) {
    auto const in = operands[t];
    auto const out = operands[goes_back ? t : t + count];
    auto const own = in.size() / static_cast<std::size_t>(rows) / head_size;
    for (std::size_t head = 0; head < in.size() / head_size; ++head) {
      auto const position = static_cast<double>(head / own % static_cast<std::size_t>(kernel.rows.sequence));
      auto const numbers = head % own < heads ? static_cast<std::size_t>(rotated) : 0;
      rotate_head(in.part(head * head_size, head_size), out.part(head * head_size, head_size), numbers,
                  goes_back ? -position : position, kernel.scalar);
    }
    heads -= std::min(heads, own);
  }
}

}  // namespace twinstep::cpu
