#pragma once

#include <string>

#include "explore/ask/scenario.hpp"

namespace twinstep::explore {

/// For a scenario that does not fit: the nearest strategy that does, "zero-1 would fit (49.0 GiB)". Tries ever more
/// sharding first, then the same with recomputation. Cost: a simulation for each that it tries, seven at most.
[[nodiscard]] std::string find_way_out(Scenario const& scenario);

}  // namespace twinstep::explore
