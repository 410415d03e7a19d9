#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "sim/program/kinds.hpp"

namespace twinstep::cpu {

/// out[i] = a[i] combined with b[i], for `count` numbers; `out` may be an operand.
using Reduce = std::function<void(void* out, void const* a, void const* b, std::size_t count)>;

/// The combination of numbers of type T. An average is a sum here. NaN, the mark of what was never written, survives
/// every reduction.
template <class T>
Reduce reduction_of(program::Reduction kind) {
  auto const each = [](auto combine) {
    return [combine](void* out, void const* a, void const* b, std::size_t count) {
      auto* const to = static_cast<T*>(out);
      auto const* const left = static_cast<T const*>(a);
      auto const* const right = static_cast<T const*>(b);
      for (std::size_t i = 0; i < count; ++i) to[i] = combine(left[i], right[i]);
    };
  };
  auto const is_nan = [](T a, T b) { return std::isnan(a) || std::isnan(b); };
  if (kind == program::Reduction::kMax)
    return each([is_nan](T a, T b) { return is_nan(a, b) ? a + b : std::max(a, b); });
  if (kind == program::Reduction::kMin)
    return each([is_nan](T a, T b) { return is_nan(a, b) ? a + b : std::min(a, b); });
  return each([](T a, T b) { return a + b; });
}

}  // namespace twinstep::cpu
