#include "reports/render/chart_text.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

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

/// Which series has most of each cell of a row: hundreds of spans may lie in one.
class CellMajority {
 public:
  CellMajority(std::size_t cells, std::size_t series) : cells_(cells, Cell{std::vector<double>(series)}) {}

  /// A span between two positions of a CellScale.
  void add(std::size_t series, double from, double to) {
    auto const at = [](double position) { return static_cast<std::size_t>(std::lround(position)); };
    constexpr auto kShortest = 1e-9;  // counts too, where nothing else is
    cells_[at(from)].begins = true;
    cells_[at(from)].shares[series] += kShortest;
    for (auto cell = at(from); cell <= at(to); ++cell) {
      auto const middle = static_cast<double>(cell);
      cells_[cell].shares[series] += std::max(0.0, std::min(to, middle + 0.5) - std::max(from, middle - 0.5));
    }
  }
  /// Cells in which a span begins, or of which spans have more than half.
  void draw(TextCanvas& canvas, std::size_t row) const {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      auto const& [shares, begins] = cells_[i];
      if (!begins && std::accumulate(shares.begin(), shares.end(), 0.0) <= 0.5 + kRounding) continue;
      auto const most = std::ranges::max_element(shares);
      canvas.set(row, i, series_shade(static_cast<std::size_t>(most - shares.begin())));
    }
  }

 private:
  static constexpr double kRounding = 1e-6;
  struct Cell {
    std::vector<double> shares;  // by series
    bool begins = false;
  };
  std::vector<Cell> cells_;
};

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
  auto rows = std::vector<CellMajority>(labels.size(), CellMajority{cells, chart.series.size()});
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    for (std::size_t j = 0; j < chart.series[i].points.size(); ++j) {
      auto const& point = chart.series[i].points[j];
      auto const row = static_cast<std::size_t>(point.y);
      if (row < labels.size() && scale.has(point.x))
        rows[row].add(i, scale.position(point.x, cells), scale.position(chart.series[i].x_ends[j], cells));
    }
  auto canvas = TextCanvas{labels.size(), cells};
  auto text = std::string{};
  for (std::size_t row = 0; row < labels.size(); ++row) {
    rows[row].draw(canvas, row);
    text += fmt::format("{} {}\n", padded(labels[row], width), canvas.row(row));
  }
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
