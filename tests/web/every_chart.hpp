#pragma once

#include "reports/page/page.hpp"

namespace twinstep::reports {

/// A page with every kind of chart and table, and texts that try to break out of HTML, JSON, Markdown and CSV.
[[nodiscard]] Page every_chart();

}  // namespace twinstep::reports
