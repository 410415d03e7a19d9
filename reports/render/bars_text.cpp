#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "reports/render/chart_text.hpp"
#include "reports/render/page_parts.hpp"
#include "reports/render/text_canvas.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {
namespace {

/// A bar of one series: from where to where along the axis of values.
struct Bar {
  std::size_t series;
  double from;
  double to;
  [[nodiscard]] double length() const { return to - from; }
};

std::vector<double> places_of(Chart const& chart) {
  auto places = std::vector<double>{};
  for (auto const& series : chart.series)
    for (auto const& point : series.points) places.push_back(point.x);
  std::ranges::sort(places);
  auto const rest = std::ranges::unique(places);
  places.erase(rest.begin(), rest.end());
  return places;
}

/// The bars at one place: stacked ones begin where the last of the same sign ended.
std::vector<Bar> bars_at(Chart const& chart, double place) {
  auto bars = std::vector<Bar>{};
  auto above = 0.0;
  auto below = 0.0;
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    for (auto const& point : chart.series[i].points) {
      if (point.x != place) continue;
      auto& base = point.y < 0 ? below : above;
      auto const from = chart.is_stacked ? base : 0.0;
      bars.push_back({i, from, from + point.y});
      base += point.y;
    }
  return bars;
}

std::string drawn(std::vector<Bar> const& bars, CellScale const& scale, std::size_t cells) {
  auto canvas = TextCanvas{1, cells};
  for (auto const& bar : bars) {
    if (bar.length() == 0) continue;
    auto const [first, end] = std::minmax({scale.cell(bar.from, cells), scale.cell(bar.to, cells)});
    canvas.fill(0, first, end, series_shade(bar.series));
  }
  return padded(canvas.row(0), cells);
}

/// "434.3 ms"; "6.6, -5.4 %" where bars go both ways.
std::string values_text(std::vector<Bar> const& bars, Axis const& axis) {
  auto sum = 0.0;
  for (auto const& bar : bars) sum += bar.length();
  if (std::ranges::none_of(bars, [](Bar const& bar) { return bar.length() < 0; })) return value_text(sum, axis);
  auto text = std::string{};
  for (auto const& bar : bars)
    text += &bar == &bars.back() ? value_text(bar.length(), axis) : number_text(bar.length()) + ", ";
  return text;
}

}  // namespace

std::string bars_text(Chart const& chart, TextStyle const& style) {
  auto const places = places_of(chart);
  auto labels = std::vector<std::string>{};
  for (auto const place : places) labels.push_back(value_text(place, chart.x));
  auto lines = std::vector<std::pair<std::string, std::vector<Bar>>>{};
  auto scale = CellScale{false};
  scale.cover(0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto const bars = bars_at(chart, places[i]);
    for (auto const& bar : bars) scale.cover(bar.to);
    if (chart.is_stacked)
      lines.emplace_back(labels[i], bars);
    else
      for (auto const& bar : bars) lines.emplace_back(&bar == &bars.front() ? labels[i] : "", std::vector{bar});
  }
  auto values = std::size_t{16};  // columns
  for (auto const& [label, bars] : lines) values = std::max(values, display_width(values_text(bars, chart.y)));
  auto const width = label_width(labels);
  auto const cells = room_beside(width + values + 2, style.width);
  auto text = std::string{};
  for (auto const& [label, bars] : lines)
    text += fmt::format("{} {} {}\n", padded(label, width), drawn(bars, scale, cells), values_text(bars, chart.y));
  return text;
}

}  // namespace twinstep::reports
