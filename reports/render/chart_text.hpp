#pragma once

#include <cstddef>
#include <string>

#include "reports/page/page.hpp"
#include "reports/render/text_canvas.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// The chart drawn with characters, without its title and text: bars of blocks, lines of dots, timelines of shades,
/// and a legend where there is more than one series. At most `style.width` columns. Numbers are rounded to four digits.
/// Cost: linear in the points.
[[nodiscard]] std::string chart_text(Chart const& chart, TextStyle const& style);

// By what it shows: series of bars, lines and points, areas upon each other.

/// The bars of a chart, lying, with their values: one line for each place that bars stand at, or for each bar where
/// they are not stacked. Beside stacked ones stands their sum; where some are negative, each value. Cost: places times
/// points.
[[nodiscard]] std::string bars_text(Chart const& chart, TextStyle const& style);

/// Lines, steps and points of a chart on a plane of characters, twelve rows high, with its axes: a marker for each
/// point, dots between the points of a line, a bar for an interval.
[[nodiscard]] std::string plane_text(Chart const& chart, TextStyle const& style);

/// Series upon each other as areas, each holding its value until its next point. Requires points in the order of x.
[[nodiscard]] std::string areas_text(Chart const& chart, TextStyle const& style);

/// The line under a plane: both ends of the axis and its title, `indent` columns in, `cells` wide.
[[nodiscard]] std::string x_axis_text(Axis const& axis, CellScale const& scale, std::size_t indent, std::size_t cells);

}  // namespace twinstep::reports
