#pragma once

#include <cstddef>
#include <string>

#include "reports/page/page.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// Lines, steps and points of a chart on a plane of characters, twelve rows high, with its axes: a marker for each
/// point, dots between the points of a line, a bar for an interval. Series differ by their `plane_marker`.
[[nodiscard]] std::string plane_text(Chart const& chart, TextStyle const& style);

[[nodiscard]] std::string_view plane_marker(std::size_t series);

/// The line under a plane: both ends of the axis and its title, `indent` columns in, `cells` wide.
[[nodiscard]] std::string x_axis_text(Axis const& axis, double low, double high, std::size_t indent, std::size_t cells);

}  // namespace twinstep::reports
