#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "sim/topology/routing.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::topology {

/// A quotient machine as a graph: what `Topology` finds its routes in.
struct Drawing {
  LinkGraph graph;
  std::vector<Resource> resources;
  std::vector<VertexId> gpus;
  std::vector<VertexId> nics;  ///< as drawn: at most one for each GPU
  VertexId host_memory;
  VertexId leaf;  ///< the first switch of the fabric
  ResourceId hbm;
  std::vector<ResourceId> up;  ///< from each tier but the last to the next
  std::vector<ResourceId> down;
};

[[nodiscard]] Drawing draw(hardware::Cluster const& cluster);

}  // namespace twinstep::topology
