#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/program/tensor_lists.hpp"
#include "validate/cpu/kernels.hpp"
#include "validate/cpu/model_kernels.hpp"

namespace twinstep::cpu {
namespace {

/// The standard normal distribution Φ(x) and its density φ(x), of which GELU and its slope are made.
template <class T>
struct Normal {
  T distribution;
  T density;
};

inline Normal<double> normal_at(double x) {
  return {0.5 * (1 + std::erf(x / std::numbers::sqrt2)),
          std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2};
}

/// e^x for x <= 0, within 2 units in the last place, by arithmetic that compilers vectorise: 2^k times a polynomial of
/// what is left, at most ln(2)/2. Below -87 it is e^-87. Source of the coefficients: Cephes, expf.c.
inline float exponential_of_negative(float x) {
  constexpr auto kRounder = 12582912.0F;  // 1.5 * 2^23: adding it leaves no room for a fraction
  auto const rounded = std::max(x, -87.0F) * std::numbers::log2e_v<float> + kRounder;
  auto const k = rounded - kRounder;
  auto const k_bits = std::bit_cast<std::int32_t>(rounded) - std::bit_cast<std::int32_t>(kRounder);  // NaN has some too
  auto const r = std::max(x, -87.0F) - k * 0.693359375F + k * 2.12194440e-4F;
  auto const tail = ((((1.9875691500e-4F * r + 1.3981999507e-3F) * r + 8.3334519073e-3F) * r + 4.1665795894e-2F) * r +
                     1.6666665459e-1F) *
                        r +
                    5.0000001201e-1F;
  auto const power = std::bit_cast<float>((k_bits + 127) << 23);
  return (tail * r * r + r + 1) * power;
}

/// Within 1e-7. Source: Abramowitz and Stegun, Handbook of Mathematical Functions, formula 7.1.26.
inline Normal<float> normal_at(float x) {
  auto const bell = exponential_of_negative(-x * x / 2);
  auto const t = 1 / (1 + 0.3275911F / std::numbers::sqrt2_v<float> * std::abs(x));
  auto const tail =
      ((((1.061405429F * t - 1.453152027F) * t + 1.421413741F) * t - 0.284496736F) * t + 0.254829592F) * t * bell / 2;
  return {x < 0 ? tail : 1 - tail, bell * std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>};
}

constexpr std::size_t kMostOperands = 5;

/// out[i] = value(i). Operands are the same memory or apart, so no element depends on another.
template <class T, class Value>
void each(T* out, std::size_t count, Value const& value) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = value(i);
}

/// One kernel on operands of `count` numbers of type T.
template <class T>
class Kernel {
 public:
  Kernel(program::Elementwise const& kernel, std::array<T*, kMostOperands> operands, std::size_t count)
      : function_{kernel.function},
        accumulate_{kernel.accumulate},
        scalar_{static_cast<T>(kernel.scalar)},
        operands_{operands},
        count_{count} {}

  void run(AdamWStep const& at) const {
    auto const* const x = operands_[0];
    auto const* const y = operands_[1];
    auto const scalar = scalar_;
    using enum program::Function;
    switch (function_) {
      case kFill:
        if (accumulate_) return each(operands_[0], count_, [=](std::size_t i) { return x[i] + scalar; });
        return each(operands_[0], count_, [=](std::size_t) { return scalar; });
      case kScale: return each(operands_[1], count_, [=](std::size_t i) { return scalar * x[i]; });
      case kAdd: return each(operands_[2], count_, [=](std::size_t i) { return x[i] + y[i]; });
      case kGelu: return each(operands_[1], count_, [=](std::size_t i) { return x[i] * normal_at(x[i]).distribution; });
      case kGeluBackward:
        return each(operands_[2], count_, [=](std::size_t i) {
          auto const [distribution, density] = normal_at(x[i]);
          return y[i] * (distribution + x[i] * density);
        });
      case kSquaredError: return each(operands_[2], count_, [=](std::size_t i) { return scalar * (x[i] - y[i]); });
      case kAdamW: return adamw(at);
      case kSgdMomentum: return sgd_momentum(at);
      case kSgd: return sgd(at);
      default: break;
    }
    TWINSTEP_UNREACHABLE("what only has a cost is not computed, and norms and a transformer's are apart");
  }

 private:
  void adamw(AdamWStep const& at) const {
    auto const step = static_cast<double>(at.step);
    auto const rate = static_cast<T>(at.settings.learning_rate);
    auto const beta1 = static_cast<T>(at.settings.beta1);
    auto const beta2 = static_cast<T>(at.settings.beta2);
    auto const rest1 = static_cast<T>(1 - at.settings.beta1);
    auto const rest2 = static_cast<T>(1 - at.settings.beta2);
    auto const epsilon = static_cast<T>(at.settings.epsilon);
    auto const decay = static_cast<T>(at.settings.weight_decay);
    auto const correction1 = static_cast<T>(1 - std::pow(at.settings.beta1, step));
    auto const correction2 = static_cast<T>(1 - std::pow(at.settings.beta2, step));
    auto const [master, gradient, first_moment, second_moment, copy] = operands_;
#pragma GCC ivdep
    for (std::size_t i = 0; i < count_; ++i) {
      auto const g = gradient[i];
      auto const m = beta1 * first_moment[i] + rest1 * g;
      auto const v = beta2 * second_moment[i] + rest2 * g * g;
      first_moment[i] = m;
      second_moment[i] = v;
      auto const direction = m / correction1 / (std::sqrt(v / correction2) + epsilon);
      master[i] -= rate * (direction + decay * master[i]);
    }
    if (copy != nullptr) std::copy_n(master, count_, copy);
  }

  void sgd_momentum(AdamWStep const& at) const {
    auto const rate = static_cast<T>(at.settings.learning_rate);
    auto const keep = static_cast<T>(at.settings.beta1);
    auto const decay = static_cast<T>(at.settings.weight_decay);
    auto* const master = operands_[0];
    auto const* const gradient = operands_[1];
    auto* const momentum = operands_[2];
#pragma GCC ivdep
    for (std::size_t i = 0; i < count_; ++i) {
      auto const v = keep * momentum[i] + (gradient[i] + decay * master[i]);
      momentum[i] = v;
      master[i] -= rate * v;
    }
    if (operands_[3] != nullptr) std::copy_n(master, count_, operands_[3]);
  }

  void sgd(AdamWStep const& at) const {
    auto const rate = static_cast<T>(at.settings.learning_rate);
    auto const decay = static_cast<T>(at.settings.weight_decay);
    auto* const master = operands_[0];
    auto const* const gradient = operands_[1];
#pragma GCC ivdep
    for (std::size_t i = 0; i < count_; ++i) master[i] -= rate * (gradient[i] + decay * master[i]);
    if (operands_[2] != nullptr) std::copy_n(master, count_, operands_[2]);
  }

  program::Function function_;
  bool accumulate_;
  T scalar_;
  std::array<T*, kMostOperands> operands_;
  std::size_t count_;
};

/// Operands of two types are computed on in double, and what the kernel writes is rounded.
void compute_widened(program::Elementwise const& kernel, std::span<Numbers const> operands, AdamWStep const& at) {
  auto wide = std::array<std::vector<double>, kMostOperands>{};
  auto pointers = std::array<double*, kMostOperands>{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t k = 0; k < operands[i].size(); ++k) wide[i].push_back(operands[i][k]);
    pointers[i] = wide[i].data();
  }
  Kernel<double>{kernel, pointers, operands.front().size()}.run(at);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    auto const is_written = i + 1 == operands.size() || (is_optimizer(kernel.function) && i != 1);
    for (std::size_t k = 0; is_written && k < operands[i].size(); ++k) operands[i].set(k, wide[i][k]);
  }
}

/// A kernel of which every operand is one tensor.
void compute_tensor(program::Elementwise const& kernel, std::span<Numbers const> operands, AdamWStep const& at) {
  TWINSTEP_CHECK(operands.size() <= kMostOperands, "a kernel has at most five operands");
  auto floats = std::array<float*, kMostOperands>{};
  auto doubles = std::array<double*, kMostOperands>{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    floats[i] = operands[i].floats();
    doubles[i] = operands[i].doubles();
  }
  auto const is = [&](DataType type) {
    return std::ranges::all_of(operands, [type](Numbers const& operand) { return operand.type() == type; });
  };
  auto const count = operands.front().size();
  if (is(DataType::kFp32)) return Kernel<float>{kernel, floats, count}.run(at);
  if (is(DataType::kFp64)) return Kernel<double>{kernel, doubles, count}.run(at);
  compute_widened(kernel, operands, at);
}

/// The stretch that each gradient covers is updated by itself.
void update_tensors(program::Elementwise const& kernel, std::span<Numbers const> operands, std::size_t gradients,
                    AdamWStep const& at) {
  auto begin = std::size_t{0};
  for (auto const& gradient : operands.subspan(1, gradients)) {
    auto tensors = std::vector{operands[0].part(begin, gradient.size()), gradient};
    for (auto const& state : operands.subspan(1 + gradients)) tensors.push_back(state.part(begin, gradient.size()));
    compute_tensor(kernel, tensors, at);
    begin += gradient.size();
  }
}

/// The sum is taken in double, tensor after tensor.
void add_squares(std::span<Numbers const> tensors, Numbers norm) {
  auto sum = norm[0];
  for (auto const& tensor : tensors)
    for (std::size_t i = 0; i < tensor.size(); ++i) sum += tensor[i] * tensor[i];
  norm.set(0, sum);
}

void clip(double most, Numbers norm, std::span<Numbers const> tensors) {
  auto const factor = std::min(1.0, most / (std::sqrt(norm[0]) + 1e-6));
  for (auto const& tensor : tensors)
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, factor * tensor[i]);
}

}  // namespace

OperandCount operands_of(program::Function function) {
  constexpr auto kAny = std::numeric_limits<std::size_t>::max();
  using enum program::Function;
  switch (function) {
    case kFill: return {1, 1};
    case kScale:
    case kGelu: return {2, 2};
    case kAdd:
    case kGeluBackward:
    case kSquaredError: return {3, 3};
    case kAdamW: return {4, kAny};
    case kSgdMomentum: return {3, kAny};
    case kSgd: return {2, kAny};
    case kSquaredNorm:
    case kClip: return {2, kAny};
    default: break;
  }
  TWINSTEP_CHECK(is_of_transformer(function), "a function that only has a cost has no operands to compute on");
  return {2, kAny};  // program::fits knows better
}

void compute(program::Elementwise const& kernel, std::span<Numbers const> operands, AdamWStep const& at) {
  if (is_of_transformer(kernel.function)) return compute_of_transformer(kernel, operands);
  auto const list = program::tensor_list(kernel.function, operands.size(),
                                         [&](std::size_t i) { return static_cast<std::int64_t>(operands[i].size()); });
  if (!list) return compute_tensor(kernel, operands, at);
  auto const tensors = operands.subspan(list->first, list->count);
  if (kernel.function == program::Function::kSquaredNorm) return add_squares(tensors, operands.back());
  if (kernel.function == program::Function::kClip) return clip(kernel.scalar, operands.front(), tensors);
  update_tensors(kernel, operands, list->count, at);
}

}  // namespace twinstep::cpu
