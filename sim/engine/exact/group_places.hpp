#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/layout.hpp"
#include "sim/collectives/placement.hpp"
#include "sim/engine/exact/route_table.hpp"

namespace twinstep::engine {

/// Where the ranks of each group of a communicator sit, the group of `layout` first: the groups that share its nodes,
/// and those on the nodes between its own. Uneven layouts have one group.
[[nodiscard]] std::vector<std::vector<Place>> places_of_groups(collectives::Layout const& layout,
                                                               collectives::Placement const& placement);

}  // namespace twinstep::engine
