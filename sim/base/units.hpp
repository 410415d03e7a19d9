#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

/// Quantities whose unit is part of their type. Nothing that has a unit is a bare number in a signature.
///
/// Simulated time is an integer count of picoseconds, so events have an exact order and every compiler
/// gives the same result. Whole jobs (days, GPU-hours) are `Seconds`, another type. Rates are doubles.
namespace twinstep {

/// What was asked for leads beyond what an integer quantity counts. Only the numbers of a question lead there (a link
/// of 1 b/s, a model of 10^20 parameters), so it is the user's to change; who knows the question adds the place.
class BeyondRange : public InputError {
 public:
  using InputError::InputError;
};

/// Throws BeyondRange: what was asked for is beyond what an integer quantity of this unit counts.
template <class Tag>
[[noreturn]] void fail_beyond_range();
template <>
[[noreturn]] void fail_beyond_range<struct BytesTag>();
template <>
[[noreturn]] void fail_beyond_range<struct DurationTag>();

/// A number with a unit: sums of the same unit, scaling by a plain number, ordering; nothing else.
/// Integers do not wrap: sums and products that leave the 63 bits throw BeyondRange.
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_{value} {}

  /// The bare number, in the unit that the alias below states.
  [[nodiscard]] constexpr Rep count() const { return value_; }

  constexpr auto operator<=>(Quantity const&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    if constexpr (std::is_integral_v<Rep>) {
      if (__builtin_add_overflow(value_, other.value_, &value_)) fail_beyond_range<Tag>();
    } else {
      value_ += other.value_;
    }
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    if constexpr (std::is_integral_v<Rep>) {
      if (__builtin_sub_overflow(value_, other.value_, &value_)) fail_beyond_range<Tag>();
    } else {
      value_ -= other.value_;
    }
    return *this;
  }
  constexpr Quantity& operator*=(Rep factor) {
    if constexpr (std::is_integral_v<Rep>) {
      if (__builtin_mul_overflow(value_, factor, &value_)) fail_beyond_range<Tag>();
    } else {
      value_ *= factor;
    }
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator-(Quantity a) { return Quantity{-a.value_}; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return a *= factor; }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return a *= factor; }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) { return Quantity{a.value_ / divisor}; }
  /// How many times `b` goes into `a`; truncated for integer quantities.
  friend constexpr Rep operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;              ///< floating-point operations; a multiply-add is two
using Duration = Quantity<struct DurationTag, std::int64_t>;  ///< simulated time, picoseconds; 106 days at most
using Seconds = Quantity<struct SecondsTag, double>;          ///< wall-clock time of whole jobs
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

/// A moment of simulated time, counted from the start of the step.
using Time = Duration;

inline constexpr Time kNever{std::numeric_limits<std::int64_t>::max()};

inline constexpr double kPicosecondsPerSecond = 1e12;
inline constexpr double kMicrosecond = 1e-6;  ///< in seconds

/// Simulated time as seconds, for printing and for whole-job arithmetic.
[[nodiscard]] constexpr Seconds to_seconds(Duration time) {
  return Seconds{static_cast<double>(time.count()) / kPicosecondsPerSecond};
}

/// Seconds as simulated time, rounded up to the next picosecond; an excess over a whole picosecond that is only the
/// rounding error of the double (2^-50 of the value) does not count. Requires seconds >= 0; throws BeyondRange from 106
/// days on.
[[nodiscard]] inline Duration to_duration(Seconds seconds) {
  auto const picoseconds = seconds.count() * kPicosecondsPerSecond;
  TWINSTEP_CHECK(picoseconds >= 0, "a duration is not negative");
  if (picoseconds >= 9.2e18) fail_beyond_range<DurationTag>();
  auto const whole = static_cast<std::int64_t>(picoseconds);
  auto const excess = picoseconds - static_cast<double>(whole);
  return Duration{excess > picoseconds * 0x1p-50 ? whole + 1 : whole};
}

/// A count of bytes computed in floating point, rounded up. Requires bytes >= 0; throws BeyondRange from 2^63 on.
[[nodiscard]] inline Bytes to_bytes(double bytes) {
  TWINSTEP_CHECK(bytes >= 0, "a size is not negative");
  if (bytes >= 0x1p63) fail_beyond_range<BytesTag>();
  return Bytes{static_cast<std::int64_t>(std::ceil(bytes))};
}

/// Time to move `size` at `rate`, rounded up: a transfer never ends early. Requires rate > 0.
[[nodiscard]] inline Duration transfer_time(Bytes size, BytesPerSecond rate) {
  TWINSTEP_CHECK(rate.count() > 0, "a transfer needs a positive rate");
  return to_duration(Seconds{static_cast<double>(size.count()) / rate.count()});
}

/// Time to do `work` at `rate`, rounded up. Requires rate > 0.
[[nodiscard]] inline Duration compute_time(Flops work, FlopsPerSecond rate) {
  TWINSTEP_CHECK(rate.count() > 0, "a computation needs a positive rate");
  return to_duration(Seconds{work.count() / rate.count()});
}

/// `value / divisor` rounded up. Requires value >= 0 and divisor > 0.
[[nodiscard]] constexpr std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

/// The smallest multiple of `step` that is not below `value`. Requires value >= 0 and step > 0.
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return divide_up(value, step) * step;
}

/// Where part `index` of `parts` begins when `total` is cut as evenly as integers allow: the parts are
/// [chunk_begin(i), chunk_begin(i + 1)), and no two differ by more than one.
[[nodiscard]] constexpr std::int64_t chunk_begin(std::int64_t total, std::int64_t parts, std::int64_t index) {
  return total / parts * index + (total % parts) * index / parts;
}

namespace literals {
// Decimal and binary sizes are different literals: link rates are decimal, memory sizes often binary.
constexpr Bytes operator""_B(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v)};
}
constexpr Bytes operator""_KB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) * 1000};
}
constexpr Bytes operator""_MB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) * 1000'000};
}
constexpr Bytes operator""_GB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) * 1000'000'000};
}
constexpr Bytes operator""_KiB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) << 10};
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) << 20};
}
constexpr Bytes operator""_GiB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) << 30};
}
constexpr Duration operator""_ps(unsigned long long v) {
  return Duration{static_cast<std::int64_t>(v)};
}
constexpr Duration operator""_ns(unsigned long long v) {
  return Duration{static_cast<std::int64_t>(v) * 1000};
}
constexpr Duration operator""_us(unsigned long long v) {
  return Duration{static_cast<std::int64_t>(v) * 1000'000};
}
constexpr Duration operator""_ms(unsigned long long v) {
  return Duration{static_cast<std::int64_t>(v) * 1000'000'000};
}
constexpr BytesPerSecond operator""_GBps(unsigned long long v) {
  return BytesPerSecond{static_cast<double>(v) * 1e9};
}
constexpr FlopsPerSecond operator""_TFLOPS(unsigned long long v) {
  return FlopsPerSecond{static_cast<double>(v) * 1e12};
}
}  // namespace literals

}  // namespace twinstep
