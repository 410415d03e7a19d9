#pragma once

#include <cstdint>
#include <span>

#include "explore/sweep/table.hpp"

namespace twinstep::explore::sweep {

/// A number that tells whether cells are those that were written: SQLite finds damage to its own structure, not to what
/// it keeps. `Fnv1a` over the kinds and contents: a guard against disks and editors, not against forgers.
[[nodiscard]] std::int64_t checksum_of(std::span<Cell const> cells);

}  // namespace twinstep::explore::sweep
