#pragma once

#include <algorithm>
#include <string>

#include "reports/quantity_text.hpp"
#include "sim/base/units.hpp"

/// Quantities as numbers in the unit that an axis names.
namespace twinstep::pages {

struct TimeUnit {
  std::string name;
  double seconds = 1;
};

/// The unit in which `largest` has one to three digits before the point: us, ms or s.
[[nodiscard]] inline TimeUnit time_unit_for(Duration largest) {
  using namespace literals;
  if (largest >= 1000_ms) return {"s", 1};
  return largest >= 1_ms ? TimeUnit{"ms", 1e-3} : TimeUnit{"us", 1e-6};
}

/// A time that a file states, within what the simulated clock holds: a damaged file may say anything.
[[nodiscard]] inline Duration stated_time(Seconds time) {
  constexpr auto kLongest = 8e6;  // s
  return to_duration(Seconds{time.count() >= 0 ? std::min(time.count(), kLongest) : 0});
}

[[nodiscard]] inline double number_in(Duration time, TimeUnit const& unit) {
  return to_seconds(time).count() / unit.seconds;
}
[[nodiscard]] inline double number_in(Bytes bytes, reports::MemoryUnit const& unit) {
  return static_cast<double>(bytes.count()) / static_cast<double>(unit.size.count());
}

}  // namespace twinstep::pages
