#include "reports/pages/axes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

namespace twinstep::pages {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};

constexpr std::array<Unit, 3> kOfSteps{{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
constexpr std::array<Unit, 2> kOfJobs{{{"hours", 3600}, {"days", 86400}}};

void scale_number(std::optional<double>& number, double factor) {
  if (number) *number *= factor;
}

void scale_marks(std::vector<reports::Mark>& marks, double factor) {
  for (auto& mark : marks) {
    mark.at *= factor;
    scale_number(mark.end, factor);
  }
}

/// What the numbers of the axis are to be multiplied with; its unit is the new one then. `largest` is on it.
double fitted(reports::Axis& axis, double largest, std::span<Unit const> units) {
  auto const now = std::ranges::find(units, axis.unit, &Unit::name);
  if (now == units.end() || !(largest > 0)) return 1;
  auto const is_reached = [&](Unit const& unit) { return largest * now->seconds >= unit.seconds; };
  auto const best = std::find_if(units.rbegin(), units.rend() - 1, is_reached);
  axis.unit = best->name;
  return now->seconds / best->seconds;
}

double fitted(reports::Axis& axis, double largest) {
  return fitted(axis, largest, kOfSteps) * fitted(axis, largest, kOfJobs);
}

double largest_x(reports::Chart const& chart) {
  auto largest = 0.0;
  for (auto const& series : chart.series) {
    for (auto const& point : series.points) largest = std::max(largest, std::abs(point.x));
    for (auto const end : series.x_ends) largest = std::max(largest, std::abs(end));
  }
  return largest;
}

double largest_y(reports::Chart const& chart) {
  auto largest = 0.0;
  auto stacks = std::map<double, double>{};  // by x
  for (auto const& series : chart.series)
    for (auto const& point : series.points) {
      stacks[point.x] += std::max(point.y, 0.0);
      largest = std::max({largest, std::abs(point.y), point.y_high.value_or(0)});
    }
  if (chart.is_stacked)
    for (auto const& [x, sum] : stacks) largest = std::max(largest, sum);
  return largest;
}

}  // namespace

void scale(reports::Chart& chart, double x, double y) {
  for (auto& series : chart.series) {
    for (auto& end : series.x_ends) end *= x;
    for (auto& point : series.points) {
      point.x *= x;
      point.y *= y;
      scale_number(point.y_low, y);
      scale_number(point.y_high, y);
    }
  }
  scale_marks(chart.x_marks, x);
  scale_marks(chart.y_marks, y);
}

void fit_time_units(reports::Chart& chart) {
  auto const x = fitted(chart.x, largest_x(chart));
  scale(chart, x, fitted(chart.y, largest_y(chart)));
}

}  // namespace twinstep::pages
