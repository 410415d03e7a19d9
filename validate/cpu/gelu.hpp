#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace twinstep::cpu {

/// The standard normal distribution Φ(x) and its density φ(x), of which GELU and its slope are made.
template <class T>
struct Normal {
  T distribution;
  T density;
};

[[nodiscard]] inline Normal<double> normal_at(double x) {
  return {0.5 * (1 + std::erf(x / std::numbers::sqrt2)),
          std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2};
}

/// e^x for x <= 0, within 2 units in the last place, by arithmetic that compilers vectorise: 2^k times a polynomial of
/// what is left, at most ln(2)/2. Below -87 it is e^-87. Source of the coefficients: Cephes, expf.c.
[[nodiscard]] inline float exponential_of_negative(float x) {
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
[[nodiscard]] inline Normal<float> normal_at(float x) {
  auto const bell = exponential_of_negative(-x * x / 2);
  auto const t = 1 / (1 + 0.3275911F / std::numbers::sqrt2_v<float> * std::abs(x));
  auto const tail =
      ((((1.061405429F * t - 1.453152027F) * t + 1.421413741F) * t - 0.284496736F) * t + 0.254829592F) * t * bell / 2;
  return {x < 0 ? tail : 1 - tail, bell * std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>};
}

}  // namespace twinstep::cpu
