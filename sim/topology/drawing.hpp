#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "sim/topology/routing.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::topology {

/// A quotient machine as two graphs: what `Topology` finds its routes in. GPU i is vertex i of both.
struct Drawing {
  LinkGraph host;   ///< PCIe, host memories, NICs, and the first switch of the fabric
  LinkGraph links;  ///< what joins GPUs beside that: NVLink and its like
  std::vector<Resource> resources;
  std::vector<VertexId> gpus;
  std::vector<VertexId> memories;  ///< by host: several in a rack
  std::vector<VertexId> nics;      ///< as drawn: at most one for each GPU
  std::vector<std::size_t> host_of_nic;
  std::vector<bool> is_nic_broken;
  VertexId leaf;  ///< the first switch of the fabric
  ResourceId hbm;
  std::vector<ResourceId> host_memory;  ///< by host
  std::vector<ResourceId> drives_read;  ///< by host; empty without drives
  std::vector<ResourceId> drives_write;
  std::vector<ResourceId> port_out;  ///< of each GPU in `links`; none if it has none
  std::vector<ResourceId> port_in;
  std::vector<std::vector<double>> mesh;  ///< the part of a GPU's links that leads straight to another; of meshes only
  std::vector<ResourceId> up;             ///< from each tier but the last to the next
  std::vector<ResourceId> down;
};

/// Whether a resource is broken, by name. What is broken stands among the resources, and no edge leads over it.
using IsBroken = std::function<bool(std::string const&)>;

/// The same resources with the same ids, whatever is broken.
[[nodiscard]] Drawing draw(hardware::Cluster const& cluster, IsBroken const& is_broken);

}  // namespace twinstep::topology
