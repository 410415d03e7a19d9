#pragma once

#include <string>

#include "reports/page/page.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// The bars of a chart, lying, with their values: one line for each place that bars stand at, or for each bar where
/// they are not stacked. Beside stacked ones stands their sum; where some are negative, each value. Cost: places times
/// points.
[[nodiscard]] std::string bars_text(Chart const& chart, TextStyle const& style);

}  // namespace twinstep::reports
