#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/collective_kind.hpp"

namespace twinstep::cpu {

/// Where what leaves `place` in a collective goes, and how many elements: to the next place on a ring, or directly.
/// Summed over the places it is what `exchange` returns: the fewest that a ring needs.
/// @param elements  of the collective by place; they differ only in all_to_all
[[nodiscard]] std::vector<std::pair<std::size_t, std::int64_t>> leaving(CollectiveKind kind, std::size_t place,
                                                                        std::span<std::int64_t const> elements,
                                                                        std::size_t root);

}  // namespace twinstep::cpu
