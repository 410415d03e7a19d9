#pragma once

#include <string>

#include "reports/page/page.hpp"

namespace twinstep::reports {

/// Every number of the page as comma-separated values (RFC 4180, with line feeds), in long form: one line for each
/// point of a chart and for each cell of a table.
///   section, chart   their titles; a table counts as a chart
///   series           its name; of a table, the header of the column
///   x, x_end         numbers, or names of categories; of a table, the first cell of the row. x_end: spans only
///   y, low, high     numbers as exact as the page has them; of a table, the cell's text
///   x_unit, y_unit   of the axes
///   note
/// The same page always gives the same text.
[[nodiscard]] std::string page_csv(Page const& page);

}  // namespace twinstep::reports
