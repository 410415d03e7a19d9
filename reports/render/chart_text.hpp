#pragma once

#include <string>

#include "reports/page/page.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// The chart drawn with characters, without its title and text: bars of blocks, lines of dots, timelines of shades,
/// and a legend where there is more than one series. At most `style.width` columns. Numbers are rounded to four digits.
/// Cost: linear in the points.
[[nodiscard]] std::string chart_text(Chart const& chart, TextStyle const& style);

}  // namespace twinstep::reports
