#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "reports/render/chart_text.hpp"
#include "reports/render/page_parts.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

constexpr std::size_t kRows = 12;

/// The number at the side of a row: of the top and the bottom.
std::string side(std::size_t row, CellScale const& y, Axis const& axis) {
  if (row == 0) return value_text(y.high(), axis);
  return row + 1 == kRows ? value_text(y.low(), axis) : std::string{};
}

std::size_t side_width(CellScale const& y, Axis const& axis) {
  return std::max(display_width(side(0, y, axis)), display_width(side(kRows - 1, y, axis)));
}

/// The canvas between its axes.
std::string framed(TextCanvas const& canvas, Chart const& chart, CellScale const& x, CellScale const& y,
                   std::size_t cells) {
  auto const width = side_width(y, chart.y);
  auto text = chart.y.name.empty() ? std::string{} : shortened(one_line(chart.y.name), width + 2 + cells) + "\n";
  for (std::size_t row = 0; row < kRows; ++row) {
    auto const label = side(row, y, chart.y);
    text += fmt::format("{}{} │{}\n", std::string(width - display_width(label), ' '), label, canvas.row(row));
  }
  return text + x_axis_text(chart.x, x, width + 2, cells);
}

/// Points of one chart onto cells.
struct Plane {
  CellScale x;
  CellScale y;
  std::size_t cells;
  TextCanvas canvas;

  [[nodiscard]] bool has(ChartPoint const& point) const { return x.has(point.x) && y.has(point.y); }
  [[nodiscard]] std::size_t column(double value) const { return x.cell(value, cells); }
  [[nodiscard]] std::size_t row(double value) const { return kRows - 1 - y.cell(value, kRows); }
};

void draw_interval(Plane& plane, ChartPoint const& point) {
  if (!point.y_low || !point.y_high || !plane.y.has(*point.y_low) || !plane.y.has(*point.y_high)) return;
  for (auto row = plane.row(*point.y_high); row <= plane.row(*point.y_low); ++row)
    plane.canvas.set_if_free(row, plane.column(point.x), "┆");
}

void draw_line(Plane& plane, ChartPoint const& from, ChartPoint const& to) {
  auto const first = plane.column(from.x);
  auto const last = plane.column(to.x);
  auto const first_row = static_cast<double>(plane.row(from.y));
  auto const rise = static_cast<double>(plane.row(to.y)) - first_row;
  for (auto column = first + 1; column < last; ++column) {
    auto const share = static_cast<double>(column - first) / static_cast<double>(last - first);
    plane.canvas.set_if_free(static_cast<std::size_t>(std::lround(first_row + rise * share)), column, "·");
  }
}

void draw_step(Plane& plane, ChartPoint const& from, ChartPoint const& to) {
  draw_line(plane, from, {.x = to.x, .y = from.y});
  auto const [top, bottom] = std::minmax({plane.row(from.y), plane.row(to.y)});
  for (auto row = top; row <= bottom; ++row) plane.canvas.set_if_free(row, plane.column(to.x), "·");
}

void draw(Plane& plane, Series const& series) {
  auto const* previous = static_cast<ChartPoint const*>(nullptr);
  for (auto const& point : series.points) {
    if (!plane.has(point)) continue;
    draw_interval(plane, point);
    if (previous != nullptr && series.style == SeriesStyle::kSteps) draw_step(plane, *previous, point);
    if (previous != nullptr && series.style == SeriesStyle::kLine) draw_line(plane, *previous, point);
    previous = &point;
  }
}

/// What a series holds at `x`: the value of its last point until there; nothing before its first.
double held(Series const& series, double x) {
  auto const next = std::ranges::upper_bound(series.points, x, {}, &ChartPoint::x);
  return next == series.points.begin() ? 0.0 : std::prev(next)->y;
}

}  // namespace

std::string plane_text(Chart const& chart, TextStyle const& style) {
  auto x = CellScale{chart.x.is_logarithmic};
  auto y = CellScale{chart.y.is_logarithmic};
  y.cover(0);  // a logarithmic one leaves it out
  for (auto const& series : chart.series)
    for (auto const& point : series.points) {
      x.cover(point.x);
      for (auto const value : {point.y, point.y_low.value_or(point.y), point.y_high.value_or(point.y)}) y.cover(value);
    }
  if (x.is_empty() || y.is_empty()) return "no data\n";
  auto const cells = room_beside(side_width(y, chart.y) + 2, style.width);
  auto plane = Plane{x, y, cells, TextCanvas{kRows, cells}};
  for (auto const& series : chart.series) draw(plane, series);
  for (std::size_t i = 0; i < chart.series.size(); ++i)  // markers lie above all lines
    for (auto const& point : chart.series[i].points)
      if (plane.has(point)) plane.canvas.set(plane.row(point.y), plane.column(point.x), series_marker(i));
  return framed(plane.canvas, chart, x, y, cells);
}

std::string areas_text(Chart const& chart, TextStyle const& style) {
  auto x = CellScale{chart.x.is_logarithmic};
  for (auto const& series : chart.series)
    for (auto const& point : series.points) x.cover(point.x);
  auto const sum_at = [&](double place) {
    auto sum = 0.0;
    for (auto const& series : chart.series) sum += held(series, place);
    return sum;
  };
  auto y = CellScale{false};
  y.cover(0);
  for (auto const& series : chart.series)
    for (auto const& point : series.points) y.cover(sum_at(point.x));
  auto const cells = room_beside(side_width(y, chart.y) + 2, style.width);
  auto canvas = TextCanvas{kRows, cells};
  for (std::size_t column = 0; column < cells; ++column) {
    auto sum = 0.0;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      auto const first = y.cell(sum, kRows + 1);
      sum += held(chart.series[i], x.value(column, cells));
      for (auto edge = first; edge < y.cell(sum, kRows + 1); ++edge)
        canvas.set(kRows - 1 - edge, column, series_shade(i));
    }
  }
  return framed(canvas, chart, x, y, cells);
}

std::string x_axis_text(Axis const& axis, CellScale const& scale, std::size_t indent, std::size_t cells) {
  auto const first = value_text(scale.low(), axis);
  auto const last = value_text(scale.high(), axis);
  auto const used = display_width(first) + display_width(last) + 2;
  auto const title = cells > used ? shortened(one_line(axis.name), cells - used) : std::string{};
  auto const air = cells > used ? cells - used + 2 - display_width(title) : 2;
  return fmt::format("{}{}{}{}{}{}\n", std::string(indent, ' '), first, std::string(air / 2, ' '), title,
                     std::string(air - air / 2, ' '), last);
}

}  // namespace twinstep::reports
