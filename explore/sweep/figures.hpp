#pragma once

#include <vector>

#include "explore/sweep/table.hpp"
#include "reports/summary.hpp"

namespace twinstep::explore::sweep {

/// What a row tells of its step: one cell for each of `kFigures`.
[[nodiscard]] std::vector<Cell> figures_of(reports::Summary const& summary);

}  // namespace twinstep::explore::sweep
