#include "reports/render/chart_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/render/page_parts.hpp"
#include "reports/render/plane_text.hpp"
#include "reports/render/text_canvas.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

constexpr auto kShades = std::array<std::string_view, 8>{"█", "▒", "░", "▓", "▞", "▤", "▥", "▦"};
constexpr std::size_t kMostOfLabel = 24;
constexpr std::size_t kLeastOfPlot = 16;

std::string_view shade(std::size_t series) {
  return kShades[series % kShades.size()];
}

bool has_style(Chart const& chart, SeriesStyle style) {
  return std::ranges::any_of(chart.series, [&](Series const& series) { return series.style == style; });
}

std::size_t label_width(std::vector<std::string> const& labels) {
  auto width = std::size_t{0};
  for (auto const& label : labels) width = std::max(width, display_width(label));
  return std::min(width, kMostOfLabel);
}

std::size_t room(std::size_t used, TextStyle const& style) {
  return std::max(kLeastOfPlot, style.width - std::min(style.width, used));
}

std::string padded(std::string_view text, std::size_t width) {
  auto const shown = shortened(text, width);
  return shown + std::string(width - display_width(shown), ' ');
}

/// "█ compute   ▒ network", wrapped; nothing for a single series.
std::string legend(Chart const& chart, std::string_view (*sign)(std::size_t), TextStyle const& style) {
  if (chart.series.size() < 2) return {};
  auto line = std::string{};
  auto text = std::string{};
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    auto const entry = fmt::format("{} {}", sign(i), one_line(chart.series[i].name));
    if (!line.empty() && display_width(line) + 3 + display_width(entry) > style.width)
      text += std::exchange(line, "") + "\n";
    line += (line.empty() ? "" : "   ") + shortened(entry, style.width);
  }
  return text + line + "\n";
}

std::vector<std::string> printable(std::vector<std::string> const& names) {
  auto out = std::vector<std::string>{};
  for (auto const& name : names) out.push_back(one_line(name));
  return out;
}

// ---- bars -----------------------------------------------------------------------------------------------------------

/// The name of each place that bars stand at; numbers stand for themselves.
std::vector<std::string> bar_labels(Chart const& chart, std::vector<double> const& places) {
  auto labels = std::vector<std::string>{};
  for (auto const place : places) {
    auto const index = static_cast<std::size_t>(place);
    labels.push_back(chart.x.categories.empty()          ? number_text(place)
                     : index < chart.x.categories.size() ? one_line(chart.x.categories[index])
                                                         : std::string{});
  }
  return labels;
}

std::vector<double> places_of(Chart const& chart) {
  auto places = std::vector<double>{};
  for (auto const& series : chart.series)
    for (auto const& point : series.points) places.push_back(point.x);
  std::ranges::sort(places);
  auto const [first, last] = std::ranges::unique(places);
  places.erase(first, last);
  return places;
}

/// A bar of one series at one place: from where to where along the axis of values.
struct Bar {
  std::size_t series;
  double from;
  double to;
};

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

std::string bar_line(std::vector<Bar> const& bars, CellScale const& scale, std::size_t cells) {
  auto canvas = TextCanvas{1, cells};
  for (auto const& bar : bars) {
    auto const [first, last] = std::minmax({scale.cell(bar.from), scale.cell(bar.to)});
    if (bar.from != bar.to) canvas.fill(0, first, std::max(first, last == first ? last : last - 1), shade(bar.series));
  }
  return padded(canvas.row(0), cells);
}

std::string bars_text(Chart const& chart, TextStyle const& style) {
  auto const places = places_of(chart);
  auto const labels = bar_labels(chart, places);
  auto const width = label_width(labels);
  constexpr std::size_t kValue = 16;
  auto const cells = room(width + kValue + 2, style);
  auto scale = CellScale{false, cells};
  scale.cover(0);
  for (auto const place : places)
    for (auto const& bar : bars_at(chart, place)) scale.cover(bar.to);
  auto text = std::string{};
  auto const add_line = [&](std::string_view label, std::vector<Bar> const& bars, double value) {
    text += fmt::format("{} {} {}\n", padded(label, width), bar_line(bars, scale, cells), value_text(value, chart.y));
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto const bars = bars_at(chart, places[i]);
    if (chart.is_stacked) {
      auto total = 0.0;
      for (auto const& bar : bars) total += bar.to - bar.from;
      add_line(labels[i], bars, total);
    } else {
      for (auto const& bar : bars) add_line(&bar == &bars.front() ? labels[i] : "", {bar}, bar.to);
    }
  }
  return text + legend(chart, shade, style);
}

// ---- timelines ------------------------------------------------------------------------------------------------------

std::string spans_text(Chart const& chart, TextStyle const& style) {
  auto const labels = printable(chart.y.categories);
  auto const width = label_width(labels);
  auto const cells = room(width + 1, style);
  auto scale = CellScale{chart.x.is_logarithmic, cells};
  for (auto const& series : chart.series) {
    for (auto const& point : series.points) scale.cover(point.x);
    for (auto const end : series.x_ends) scale.cover(end);
  }
  auto canvas = TextCanvas{labels.size(), cells};
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    for (std::size_t j = 0; j < chart.series[i].points.size(); ++j) {
      auto const& point = chart.series[i].points[j];
      auto const row = static_cast<std::size_t>(point.y);
      if (row < labels.size()) canvas.fill(row, scale.cell(point.x), scale.cell(chart.series[i].x_ends[j]), shade(i));
    }
  auto text = std::string{};
  for (std::size_t row = 0; row < labels.size(); ++row)
    text += fmt::format("{} {}\n", padded(labels[row], width), canvas.row(row));
  return text + x_axis_text(chart.x, scale.low(), scale.high(), width + 1, cells) + legend(chart, shade, style);
}

}  // namespace

std::string chart_text(Chart const& chart, TextStyle const& style) {
  if (places_of(chart).empty()) return "no data\n";
  if (has_style(chart, SeriesStyle::kSpans)) return spans_text(chart, style);
  if (has_style(chart, SeriesStyle::kBars)) return bars_text(chart, style);
  return plane_text(chart, style) + legend(chart, plane_marker, style);
}

}  // namespace twinstep::reports
