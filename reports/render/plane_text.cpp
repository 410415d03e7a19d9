#include "reports/render/plane_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "reports/render/page_parts.hpp"
#include "reports/render/text_canvas.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

constexpr std::size_t kRows = 12;
constexpr std::size_t kLeastOfPlane = 16;

class Plane {
 public:
  Plane(Chart const& chart, std::size_t cells);
  void draw();
  [[nodiscard]] std::string row(std::size_t row) const { return canvas_.row(row); }
  [[nodiscard]] CellScale const& x() const { return x_; }
  [[nodiscard]] CellScale const& y() const { return y_; }

 private:
  [[nodiscard]] bool has(ChartPoint const& point) const { return x_.has(point.x) && y_.has(point.y); }
  [[nodiscard]] std::size_t row_of(double y) const { return kRows - 1 - y_.cell(y); }
  void draw_interval(ChartPoint const& point);
  void draw_line(ChartPoint const& from, ChartPoint const& to, bool is_step);
  void draw_rise(std::size_t column, double from, double to);

  Chart const& chart_;
  CellScale x_;
  CellScale y_;
  TextCanvas canvas_;
};

Plane::Plane(Chart const& chart, std::size_t cells)
    : chart_{chart}, x_{chart.x.is_logarithmic, cells}, y_{chart.y.is_logarithmic, kRows}, canvas_{kRows, cells} {
  if (!chart.y.is_logarithmic) y_.cover(0);
  for (auto const& series : chart.series)
    for (auto const& point : series.points) {
      x_.cover(point.x);
      y_.cover(point.y);
      if (point.y_low && point.y_high) {
        y_.cover(*point.y_low);
        y_.cover(*point.y_high);
      }
    }
}

void Plane::draw() {
  for (std::size_t i = 0; i < chart_.series.size(); ++i) {
    auto const& series = chart_.series[i];
    auto const* previous = static_cast<ChartPoint const*>(nullptr);
    for (auto const& point : series.points) {
      if (!has(point)) continue;
      draw_interval(point);
      if (previous != nullptr && series.style != SeriesStyle::kPoints)
        draw_line(*previous, point, series.style == SeriesStyle::kSteps);
      previous = &point;
    }
  }
  for (std::size_t i = 0; i < chart_.series.size(); ++i)  // markers lie above all lines
    for (auto const& point : chart_.series[i].points)
      if (has(point)) canvas_.set(row_of(point.y), x_.cell(point.x), plane_marker(i));
}

void Plane::draw_interval(ChartPoint const& point) {
  if (!point.y_low || !point.y_high || !y_.has(*point.y_low) || !y_.has(*point.y_high)) return;
  for (auto row = row_of(*point.y_high); row <= row_of(*point.y_low); ++row)
    canvas_.set_if_free(row, x_.cell(point.x), "┆");
}

void Plane::draw_line(ChartPoint const& from, ChartPoint const& to, bool is_step) {
  auto const first = x_.cell(from.x);
  auto const last = x_.cell(to.x);
  auto const first_row = static_cast<double>(row_of(from.y));
  auto const rise = is_step ? 0.0 : static_cast<double>(row_of(to.y)) - first_row;
  for (auto column = first + 1; column < last; ++column) {
    auto const share = static_cast<double>(column - first) / static_cast<double>(last - first);
    canvas_.set_if_free(static_cast<std::size_t>(first_row + rise * share + 0.5), column, "·");
  }
  if (is_step) draw_rise(last, from.y, to.y);
}

void Plane::draw_rise(std::size_t column, double from, double to) {
  auto const [first, last] = std::minmax({row_of(from), row_of(to)});
  for (auto row = first; row <= last; ++row) canvas_.set_if_free(row, column, "·");
}

/// The number at the side of a row: of the top, the bottom, and nothing between.
std::string side(std::size_t row, CellScale const& y, Axis const& axis) {
  if (row == 0) return value_text(y.high(), axis);
  return row + 1 == kRows ? value_text(y.low(), axis) : std::string{};
}

}  // namespace

std::string_view plane_marker(std::size_t series) {
  static constexpr auto kMarkers = std::array<std::string_view, 8>{"●", "○", "▲", "△", "■", "□", "◆", "◇"};
  return kMarkers[series % kMarkers.size()];
}

std::string plane_text(Chart const& chart, TextStyle const& style) {
  auto const scales = Plane{chart, 1};
  if (scales.x().is_empty() || scales.y().is_empty()) return "no data\n";
  auto const width =
      std::max(display_width(side(0, scales.y(), chart.y)), display_width(side(kRows - 1, scales.y(), chart.y)));
  auto const cells = std::max(kLeastOfPlane, style.width - std::min(style.width, width + 2));
  auto plane = Plane{chart, cells};
  plane.draw();
  auto text = chart.y.name.empty() ? std::string{} : one_line(chart.y.name) + "\n";
  for (std::size_t row = 0; row < kRows; ++row) {
    auto const label = side(row, plane.y(), chart.y);
    text += fmt::format("{}{} │{}\n", std::string(width - display_width(label), ' '), label, plane.row(row));
  }
  return text + x_axis_text(chart.x, plane.x().low(), plane.x().high(), width + 2, cells);
}

std::string x_axis_text(Axis const& axis, double low, double high, std::size_t indent, std::size_t cells) {
  auto const first = value_text(low, axis);
  auto const last = value_text(high, axis);
  auto const used = display_width(first) + display_width(last) + 2;
  auto const title = cells > used ? shortened(one_line(axis.name), cells - used) : std::string{};
  auto const air = cells > used ? cells - used + 2 - display_width(title) : 2;
  return std::string(indent, ' ') + first + std::string(air / 2, ' ') + title + std::string(air - air / 2, ' ') + last +
         "\n";
}

}  // namespace twinstep::reports
