#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/sweep/table.hpp"

namespace twinstep::app::sweep {

/// What is wrong with a row whose checksum does not fit: `column "mfu": found -0.5, expected a number from 0 on`, of
/// the first column that holds what none may hold.
/// @param cells   of the row as the file has them: point, settings, status, reason, figures
/// @param points  of the whole sweep
[[nodiscard]] std::string damage_of(std::span<Cell const> cells, std::vector<std::string> const& paths,
                                    std::int64_t points);

}  // namespace twinstep::app::sweep
