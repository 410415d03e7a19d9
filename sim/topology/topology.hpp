#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/cluster.hpp"

namespace twinstep::topology {

/// A rate that activities share: one direction of a link, a memory, a copy engine.
///
/// The topology is a quotient: one node, one leaf, one spine, … stand for all of them, so its size does not grow
/// with the cluster. `instances` says how many of a resource the cluster has; a load put on a resource is the
/// load of its busiest instance.
struct Resource {
  std::string name;            ///< "gpu3.nvlink.out", "nic0.in", "leaf.up", "gpu0.hbm"
  std::string kind;            ///< "nvlink", "pcie", "nic", "leaf uplink", "hbm", …: what reports group by
  bool is_inter_node = false;
  BytesPerSecond bandwidth;    ///< one way, as the datasheet or fabric states it
  Duration latency;            ///< of crossing it
  std::int64_t instances = 1;
};

/// The links that a message crosses, in order.
using Route = std::span<ResourceId const>;

/// The machine as a graph of links, and the routes through it.
class Topology {
 public:
  /// Requires a cluster that passed its reader's checks. Cost O(links of one node × GPUs of one node).
  explicit Topology(hardware::Cluster const& cluster);

  [[nodiscard]] std::span<Resource const> resources() const { return resources_; }
  [[nodiscard]] Resource const& resource(ResourceId id) const { return resources_[id.index()]; }

  [[nodiscard]] std::int64_t gpus_per_node() const { return gpus_per_node_; }
  /// From one GPU of a node to another one of the same node.
  [[nodiscard]] Route within_node(std::int64_t from_gpu, std::int64_t to_gpu) const;
  /// From a GPU out to the first switch of the fabric, its NIC included; and back in.
  [[nodiscard]] Route out_of_node(std::int64_t gpu) const;
  [[nodiscard]] Route into_node(std::int64_t gpu) const;
  /// The tier at which two nodes meet: 0 for the same node, 1 under one leaf, and so on.
  [[nodiscard]] std::size_t meeting_level(std::int64_t node_a, std::int64_t node_b) const;
  /// Links from tier `level` up to the next, and down again; 1 is the leaf. Requires 1 <= level < levels.
  [[nodiscard]] ResourceId up(std::size_t level) const;
  [[nodiscard]] ResourceId down(std::size_t level) const;

  /// The device memory of the GPU shown.
  [[nodiscard]] ResourceId hbm() const { return hbm_; }
  /// The links that a copy between a GPU and its host crosses.
  [[nodiscard]] Route host_to_device() const;
  [[nodiscard]] Route device_to_host() const;

 private:
  std::vector<Resource> resources_;
  std::int64_t gpus_per_node_ = 1;
  ResourceId hbm_;
};

}  // namespace twinstep::topology
