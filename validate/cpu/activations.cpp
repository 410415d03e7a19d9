#include <algorithm>
#include <cmath>

#include "validate/cpu/model_kernels.hpp"

namespace twinstep::cpu {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

void add_to(Operands operands) {
  for (std::size_t i = 0; i < operands[0].size(); ++i) operands[1].set(i, operands[1][i] + operands[0][i]);
}

void relu(Operands operands) {
  for (std::size_t i = 0; i < operands[0].size(); ++i) operands[1].set(i, std::max(0.0, operands[0][i]));
}

void relu_backward(Operands operands) {
  for (std::size_t i = 0; i < operands[0].size(); ++i) operands[2].set(i, operands[0][i] > 0 ? operands[1][i] : 0.0);
}

void gate(Operands operands) {
  for (std::size_t i = 0; i < operands[0].size(); ++i) {
    auto const x = operands[0][i];
    auto const silu = x * sigmoid(x);
    auto const product = silu * operands[1][i];
    if (operands.size() == 4) operands[2].set(i, silu);
    operands.back().set(i, product);
  }
}

/// silu'(x) = σ(x) (1 + x (1 - σ(x))).
void gate_backward(Operands operands) {
  auto const gate_gradient = operands[operands.size() - 2];
  auto const up_gradient = operands.back();
  for (std::size_t i = 0; i < operands[0].size(); ++i) {
    auto const gradient = operands[0][i];
    auto const x = operands[1][i];
    auto const up = operands[2][i];
    auto const s = sigmoid(x);
    gate_gradient.set(i, gradient * up * s * (1 + x * (1 - s)));
    up_gradient.set(i, gradient * x * s);
  }
}

}  // namespace twinstep::cpu
