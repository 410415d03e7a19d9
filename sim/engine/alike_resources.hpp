#pragma once

#include <vector>

#include "sim/collectives/folded.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::engine {

/// Merges resources that no communication of a program tells apart: if every phase puts equal loads on two resources of
/// equal bandwidth (the NVLinks of the GPUs of a node, say), both are always in the same state, and one is enough.
/// Results stay the same; the network gets small. Device memory, which kernels use too, and what `others_use` stay
/// apart. Cost O(resources × phases).
void merge_alike_resources(std::vector<collectives::Folded>& communications, topology::Topology const& topology,
                           std::vector<ResourceId> const& others_use);

}  // namespace twinstep::engine
