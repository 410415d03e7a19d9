#pragma once

#include "sim/collectives/folded.hpp"
#include "sim/collectives/placement.hpp"

namespace twinstep::collectives {

/// Folds the collective by the algorithm and protocol that the machine's library takes for it: as its tuner decides
/// (hardware::Choice::kTuner), or the cheapest of what it may use. Throws InputError if what is forced leaves nothing.
[[nodiscard]] Folded choose(Question const& question, Placement const& placement, hardware::Cluster const& cluster,
                            topology::Topology const& topology);

}  // namespace twinstep::collectives
