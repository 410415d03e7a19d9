#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "explore/sweep/table.hpp"

namespace twinstep::explore::sweep {

/// The first column of a row that holds what it cannot hold: `column "mfu": found -0.5, expected a number from 0 on`.
/// @param cells   point, settings, status, reason, figures
/// @param points  of the whole sweep
[[nodiscard]] std::optional<std::string> damage_of(std::span<Cell const> cells, std::vector<std::string> const& paths,
                                                   std::int64_t points);

}  // namespace twinstep::explore::sweep
