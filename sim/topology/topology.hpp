#pragma once

#include <cstdint>
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
  std::string name;  ///< "gpu3.nvlink.out", "nic0.in", "leaf.up", "gpu0.hbm"
  std::string kind;  ///< "nvlink", "pcie", "nic", "leaf uplink", "hbm", …: what reports group by
  bool is_inter_node = false;
  BytesPerSecond bandwidth;  ///< one way, as the datasheet or fabric states it
  Duration latency;          ///< of crossing it: that of the switch which it leads to
  std::int64_t instances = 1;
  std::int64_t gpus = 1;         ///< that share one instance
  std::int64_t nodes_below = 1;  ///< neighbouring nodes that share its instances
  std::int64_t per_nodes = 1;    ///< instances for those nodes: one for each GPU of a node, or for each rail
};

/// The links that a message crosses, in order. One that it crosses twice (host memory: written, then read) stands
/// there twice.
using Route = std::span<ResourceId const>;

/// The machine as a graph of links, and the routes through it.
///
/// One node is drawn in full: its GPUs, the NVSwitch crossbar, PCIe switches, the CPU root with host memory, NICs.
/// Several NICs of one GPU are drawn as one of their summed rate. Above the NICs stand the tiers of the fabric.
/// A tier below an oversubscribed one narrows: what leads up from a switch group is the bandwidth that enters it
/// from below over the tier's oversubscription. On a rail-optimised fabric a leaf serves one NIC of every node, and
/// the tiers above it serve all rails.
class Topology {
 public:
  /// Requires a cluster that passed its reader's checks. Cost O(links of one node × GPUs of one node).
  explicit Topology(hardware::Cluster const& cluster);

  [[nodiscard]] std::span<Resource const> resources() const { return resources_; }
  [[nodiscard]] Resource const& resource(ResourceId id) const { return resources_[id.index()]; }

  [[nodiscard]] std::int64_t gpus_per_node() const { return gpus_per_node_; }
  /// NICs of a node as drawn: at most one for each GPU; 0 without a network.
  [[nodiscard]] std::int64_t nics() const { return nics_; }
  /// The NIC, as drawn, that a GPU uses. Requires nics() > 0.
  [[nodiscard]] std::int64_t nic_of(std::int64_t gpu) const { return gpu * nics_ / gpus_per_node_; }

  /// Which instance of `resource`, counted from 0, serves `gpu` of `node`.
  [[nodiscard]] std::int64_t instance(ResourceId resource, std::int64_t node, std::int64_t gpu) const;

  /// From one GPU of a node to another one of the same node; empty from a GPU to itself.
  [[nodiscard]] Route within_node(std::int64_t from_gpu, std::int64_t to_gpu) const;
  /// From a GPU out to the first switch of the fabric, its NIC included; and back in. Requires nics() > 0.
  [[nodiscard]] Route out_of_node(std::int64_t gpu) const;
  [[nodiscard]] Route into_node(std::int64_t gpu) const;

  /// Tiers of the fabric.
  [[nodiscard]] std::size_t levels() const { return nodes_below_.size(); }
  /// The tier at which two nodes meet: 0 for the same node, 1 under one leaf, and so on.
  [[nodiscard]] std::size_t meeting_level(std::int64_t node_a, std::int64_t node_b) const;
  /// Links from tier `level` up to the next, and down again; 1 is the leaf. Requires 1 <= level < levels().
  [[nodiscard]] ResourceId up(std::size_t level) const;
  [[nodiscard]] ResourceId down(std::size_t level) const;
  /// Latency of the switches that a message crosses between nodes which meet at `level` >= 1.
  [[nodiscard]] Duration hop_latency(std::size_t level) const;

  /// The device memory of the GPU shown.
  [[nodiscard]] ResourceId hbm() const { return hbm_; }
  /// The links that a copy between a GPU and its host crosses.
  [[nodiscard]] Route host_to_device(std::int64_t gpu = 0) const {
    return host_to_device_[static_cast<std::size_t>(gpu)];
  }
  [[nodiscard]] Route device_to_host(std::int64_t gpu = 0) const {
    return device_to_host_[static_cast<std::size_t>(gpu)];
  }

 private:
  std::int64_t gpus_per_node_ = 1;
  std::int64_t nics_ = 0;
  ResourceId hbm_;
  std::vector<Resource> resources_;
  std::vector<std::vector<ResourceId>> within_node_;     ///< by from_gpu * gpus + to_gpu
  std::vector<std::vector<ResourceId>> out_of_node_;     ///< by GPU
  std::vector<std::vector<ResourceId>> into_node_;       ///< by GPU
  std::vector<std::vector<ResourceId>> host_to_device_;  ///< by GPU
  std::vector<std::vector<ResourceId>> device_to_host_;  ///< by GPU
  std::vector<ResourceId> up_;                           ///< by level - 1
  std::vector<ResourceId> down_;                         ///< by level - 1
  std::vector<std::int64_t> nodes_below_;                ///< by level - 1
  std::vector<Duration> hop_latency_;                    ///< by level - 1: of crossing one of its switches
};

}  // namespace twinstep::topology
