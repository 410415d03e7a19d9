#pragma once

#include <string>

#include "reports/page/page.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// The table for lines of `style.width` columns, without its title. Columns that have no room go into further tables
/// below, and columns with a cell longer than a line below these, as sentences; each time behind the first cell of
/// their row, or its number where first cells do not tell rows apart.
[[nodiscard]] std::string page_table_text(PageTable const& table, TextStyle const& style);

}  // namespace twinstep::reports
