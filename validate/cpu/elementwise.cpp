#include <cmath>
#include <numbers>

#include "sim/base/check.hpp"
#include "validate/cpu/kernels.hpp"

namespace twinstep::cpu {
namespace {

double normal_distribution(double x) {
  return 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
}
double normal_density(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

double gelu(double x) {
  return x * normal_distribution(x);
}
double gelu_slope(double x) {
  return normal_distribution(x) + x * normal_density(x);
}

void adamw(std::span<Numbers const> operands, AdamWStep const& at) {
  auto const& [rate, beta1, beta2, epsilon, decay] = at.settings;
  auto const& master = operands[0];
  auto const& gradient = operands[1];
  auto const& first_moment = operands[2];
  auto const& second_moment = operands[3];
  auto const step = static_cast<double>(at.step);
  auto const first_correction = 1 - std::pow(beta1, step);
  auto const second_correction = 1 - std::pow(beta2, step);
  for (std::size_t i = 0; i < master.size(); ++i) {
    auto const g = gradient[i];
    auto const m = beta1 * first_moment[i] + (1 - beta1) * g;
    auto const v = beta2 * second_moment[i] + (1 - beta2) * g * g;
    first_moment.set(i, m);
    second_moment.set(i, v);
    auto const direction = m / first_correction / (std::sqrt(v / second_correction) + epsilon);
    master.set(i, master[i] - rate * (direction + decay * master[i]));
    if (operands.size() > 4) operands[4].set(i, master[i]);
  }
}

}  // namespace

OperandCount operands_of(program::Function function) {
  using enum program::Function;
  switch (function) {
    case kFill: return {1, 1};
    case kScale:
    case kGelu: return {2, 2};
    case kAdd:
    case kGeluBackward:
    case kSquaredError: return {3, 3};
    case kAdamW: return {4, 5};
    case kTransformer:
    case kCrossEntropy: break;
  }
  TWINSTEP_UNREACHABLE("a function that only has a cost has no operands to compute on");
}

void compute(program::Elementwise const& kernel, std::span<Numbers const> operands, AdamWStep const& at) {
  // The last operand is the result of every function but AdamW, which has several.
  auto const& out = operands.back();
  auto const each = [&](auto value) {
    for (std::size_t i = 0; i < out.size(); ++i) out.set(i, value(i));
  };
  auto const& x = operands.front();
  using enum program::Function;
  switch (kernel.function) {
    case kFill: return each([&](std::size_t) { return kernel.scalar; });
    case kScale: return each([&](std::size_t i) { return kernel.scalar * x[i]; });
    case kAdd: return each([&](std::size_t i) { return x[i] + operands[1][i]; });
    case kGelu: return each([&](std::size_t i) { return gelu(x[i]); });
    case kGeluBackward: return each([&](std::size_t i) { return operands[1][i] * gelu_slope(x[i]); });
    case kSquaredError: return each([&](std::size_t i) { return kernel.scalar * (x[i] - operands[1][i]); });
    case kAdamW: return adamw(operands, at);
    case kTransformer:
    case kCrossEntropy: break;
  }
  TWINSTEP_UNREACHABLE("a function that only has a cost is not computed");
}

}  // namespace twinstep::cpu
