#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "reports/page/page.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/units.hpp"

/// Quantities as numbers on axes, in the units that suit them.
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

/// Adds a place that lies in a region called `name`: the last region grows if it has that name, else one begins.
inline void add_to_regions(std::vector<reports::Mark>& regions, double at, std::string name) {
  if (regions.empty() || regions.back().text != name) regions.push_back({.at = at, .text = std::move(name)});
  regions.back().end = at;
}

/// Multiplies all numbers of the chart: those of x with one factor, those of y with the other.
void scale(reports::Chart& chart, double x, double y);

/// Puts axes of time into the unit in which their largest number has one to three digits before the point: us, ms or s;
/// hours or days where they are of whole jobs. Makers of charts need not know it, and several results may need another
/// than the first of them.
void fit_time_units(reports::Chart& chart);

}  // namespace twinstep::pages
