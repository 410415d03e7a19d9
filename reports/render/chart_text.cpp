#include "reports/render/chart_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/render/bars_text.hpp"
#include "reports/render/plane_text.hpp"
#include "reports/render/text_canvas.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

bool has_style(Chart const& chart, SeriesStyle style) {
  return std::ranges::any_of(chart.series, [&](Series const& series) { return series.style == style; });
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

/// A row for each category, time from left to right.
std::string spans_text(Chart const& chart, TextStyle const& style) {
  auto labels = std::vector<std::string>{};
  for (auto const& category : chart.y.categories) labels.push_back(one_line(category));
  auto const width = label_width(labels);
  auto const cells = room_beside(width + 1, style.width);
  auto scale = CellScale{chart.x.is_logarithmic};
  for (auto const& series : chart.series) {
    for (auto const& point : series.points) scale.cover(point.x);
    for (auto const end : series.x_ends) scale.cover(end);
  }
  auto canvas = TextCanvas{labels.size(), cells};
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    for (std::size_t j = 0; j < chart.series[i].points.size(); ++j) {
      auto const& point = chart.series[i].points[j];
      auto const row = static_cast<std::size_t>(point.y);
      if (row < labels.size() && scale.has(point.x))
        canvas.fill(row, scale.cell(point.x, cells), scale.cell(chart.series[i].x_ends[j], cells), series_shade(i));
    }
  auto text = std::string{};
  for (std::size_t row = 0; row < labels.size(); ++row)
    text += fmt::format("{} {}\n", padded(labels[row], width), canvas.row(row));
  return text + x_axis_text(chart.x, scale, width + 1, cells);
}

}  // namespace

std::string chart_text(Chart const& chart, TextStyle const& style) {
  auto const has_points = [](Series const& series) { return !series.points.empty(); };
  if (std::ranges::none_of(chart.series, has_points)) return "no data\n";
  if (has_style(chart, SeriesStyle::kSpans)) return spans_text(chart, style) + legend(chart, series_shade, style);
  if (has_style(chart, SeriesStyle::kBars)) return bars_text(chart, style) + legend(chart, series_shade, style);
  if (chart.is_stacked) return areas_text(chart, style) + legend(chart, series_shade, style);
  return plane_text(chart, style) + legend(chart, series_marker, style);
}

}  // namespace twinstep::reports
