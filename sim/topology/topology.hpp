#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/topology/faults.hpp"
#include "sim/topology/routing.hpp"

namespace twinstep::topology {

/// Which way a link leads: from a GPU towards the others and the network, or back.
enum class Heading : std::uint8_t { kNeither, kOut, kIn };

/// A rate that activities share: one direction of a link, a memory, a copy engine.
///
/// The topology is a quotient: one node, one leaf, one spine, … stand for all of them, so its size does not grow
/// with the cluster. `instances` says how many of a resource the cluster has; a load put on a resource is the
/// load of its busiest instance.
struct Resource {
  std::string name;  ///< "gpu3.nvlink.out", "gpu3.nvlink.gpu5", "nic0.in", "leaf.up", "gpu0.hbm"
  std::string kind;  ///< "nvlink", "pcie", "nic", "leaf uplink", "hbm", …: what reports group by
  bool is_inter_node = false;
  BytesPerSecond bandwidth;  ///< one way, as the datasheet or fabric states it, less what faults take in all nodes
  Duration latency;          ///< of crossing it: that of the switch which it leads to
  std::int64_t instances = 1;
  std::int64_t gpus = 1;         ///< that share one instance
  std::int64_t nodes_below = 1;  ///< neighbouring nodes that share its instances
  std::int64_t per_nodes = 1;    ///< instances for those nodes: one for each GPU of a node, or for each rail
  std::int64_t links = 1;        ///< parallel ones that an instance consists of (see Topology::uplink)
  bool is_gpu_link = false;      ///< between GPUs of a node, beside PCIe
  Heading heading = Heading::kNeither;
};

/// The links that a message crosses, in order. One that it crosses twice (host memory: written, then read) stands
/// there twice. A whole route knows its place in the tables of its node, where a node with faults has another one.
class Route : public std::span<ResourceId const> {
 public:
  Route(std::span<ResourceId const> links) : span{links} {}  // NOLINT: a part of a route is a route without a place
  Route(std::span<ResourceId const> links, std::size_t place) : span{links}, place_{place} {}

  [[nodiscard]] std::optional<std::size_t> place() const { return place_; }

 private:
  std::optional<std::size_t> place_;
};

/// The machine as a graph of links, and the routes through it.
///
/// One node is drawn in full: its GPUs, what joins them, PCIe switches, the CPU root with host memory, NICs.
///   NVSwitch    every GPU has a port, in and out, of its whole rate P.
///   mesh        a link of P / (G - 1) from each GPU to each other, behind ports of P. A message between two GPUs is
///               bound by the link; the rings of a collective use all of them and are bound by the ports (ring_link).
///   cube mesh   a DGX-1's one or two links of P / 6 to four neighbours, behind ports; to the three others over one of
///               them.
///   pairs       a bridge of P in every pair, PCIe between pairs.
///   racks       one NVSwitch for all GPUs; each tray has its own PCIe, host memory and NICs.
/// Several NICs of one GPU are drawn as one of their summed rate. Above the NICs stand the tiers of the fabric.
/// A tier below an oversubscribed one narrows: what leads up from a switch group is the bandwidth that enters it
/// from below over the tier's oversubscription. On a rail-optimised fabric a leaf serves one NIC of every node, and
/// the tiers above it serve all rails.
///
/// Faults: what is wrong in every node is part of what is drawn. A node that differs is a *condition* of its own, with
/// its own routes and rates; condition 0 is that of all others. GPUs of a broken NIC use the nearest working one, and a
/// GPU whose link is broken reaches the others over PCIe.
///
/// ECMP: a tier whose uplinks are several parallel ones is one resource of their summed rate, as adaptive routing makes
/// them. Where flows are hashed, `uplink` says which one a flow keeps, and (instance × links + uplink) numbers them;
/// folded collectives count the even split for both.
class Topology {
 public:
  /// Requires a cluster that passed its reader's checks. Throws InputError for faults of what it does not have, and for
  /// faults that cut a GPU off. Cost O(links of one node × GPUs of one node), for each node that differs.
  explicit Topology(hardware::Cluster const& cluster);

  [[nodiscard]] std::span<Resource const> resources() const { return resources_; }
  [[nodiscard]] Resource const& resource(ResourceId id) const { return resources_[id.index()]; }

  [[nodiscard]] std::int64_t gpus_per_node() const { return gpus_per_node_; }
  /// NICs of a node as drawn: at most one for each GPU; 0 without a network.
  [[nodiscard]] std::int64_t nics() const { return nics_; }
  /// The NIC, as drawn, that a GPU uses. Requires nics() > 0.
  [[nodiscard]] std::int64_t nic_of(std::int64_t gpu) const;

  /// Which instance of `resource`, counted from 0, serves `gpu` of `node`.
  [[nodiscard]] std::int64_t instance(ResourceId resource, std::int64_t node, std::int64_t gpu) const;
  /// Its rate, less what faults take from this instance; of a broken one, over which no route leads, the stated rate.
  [[nodiscard]] BytesPerSecond bandwidth_of(ResourceId resource, std::int64_t instance) const;

  /// From one GPU of a node to another one of the same node; empty from a GPU to itself.
  [[nodiscard]] Route within_node(std::int64_t from_gpu, std::int64_t to_gpu) const;
  /// The same for a message between neighbours of a ring or chain, which are many at once, over all links of a GPU.
  [[nodiscard]] Route ring_link(std::int64_t from_gpu, std::int64_t to_gpu) const;
  /// The part of a GPU's links that rings through these GPUs of a node can use: those to one another. In a mesh of G
  /// GPUs (n - 1) / (G - 1); 1 elsewhere. Requires two GPUs at least.
  [[nodiscard]] double ring_share(std::span<std::int64_t const> gpus) const;
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
  /// Which of the parallel uplinks of tier `level` a flow keeps, by a fixed hash of its two NICs and its number;
  /// nothing where it is spread over all of them.
  [[nodiscard]] std::optional<std::int64_t> uplink(std::size_t level, std::int64_t from_nic, std::int64_t to_nic,
                                                   std::int64_t flow) const;

  /// The device memory of the GPU shown.
  [[nodiscard]] ResourceId hbm() const { return hbm_; }
  /// The links that a copy between a GPU and its host crosses.
  [[nodiscard]] Route host_to_device(std::int64_t gpu = 0) const;
  [[nodiscard]] Route device_to_host(std::int64_t gpu = 0) const;
  /// The memory of a GPU's host, and its drives if it has any: what they read, and what they write.
  [[nodiscard]] ResourceId host_memory(std::int64_t gpu) const { return of_host(host_memory_, gpu); }
  [[nodiscard]] bool has_drives() const { return !drives_read_.empty(); }
  [[nodiscard]] ResourceId drives_read(std::int64_t gpu) const { return of_host(drives_read_, gpu); }
  [[nodiscard]] ResourceId drives_write(std::int64_t gpu) const { return of_host(drives_write_, gpu); }

  /// Conditions that nodes are in: 0, and one for each of `faulty_nodes` in order.
  [[nodiscard]] std::span<std::int64_t const> faulty_nodes() const { return faulty_nodes_; }
  [[nodiscard]] std::size_t condition_of(std::int64_t node) const;
  /// The route that stands in this one's place in nodes of a condition.
  [[nodiscard]] Route under(Route route, std::size_t condition) const;
  /// The stated rate of a resource inside nodes over what nodes of a condition have of it, for what is not broken
  /// there.
  [[nodiscard]] double slowdown(ResourceId resource, std::size_t condition) const;
  /// The same for the uplinks of the slowest switch group from `first` to `last` of tier `level`.
  [[nodiscard]] double slowdown_of_tier(std::size_t level, std::int64_t first, std::int64_t last) const;

 private:
  [[nodiscard]] NodeRoutes const& routes(std::size_t condition = 0) const { return routes_[condition]; }
  [[nodiscard]] Route route(std::size_t place) const;
  [[nodiscard]] ResourceId of_host(std::vector<ResourceId> const& by_host, std::int64_t gpu) const {
    return by_host[static_cast<std::size_t>(gpu) * by_host.size() / static_cast<std::size_t>(gpus_per_node_)];
  }

  std::int64_t gpus_per_node_ = 1;
  std::int64_t nics_ = 0;
  ResourceId hbm_;
  std::vector<ResourceId> host_memory_;  ///< by host
  std::vector<ResourceId> drives_read_;  ///< by host; empty without drives
  std::vector<ResourceId> drives_write_;
  std::vector<Resource> resources_;
  Faults faults_;
  std::vector<std::int64_t> faulty_nodes_;
  std::vector<NodeRoutes> routes_;              ///< by condition
  std::vector<std::vector<double>> slowdown_;   ///< by condition - 1, then by resource
  std::vector<std::vector<double>> mesh_;       ///< in a mesh: what leads from a GPU to another, of all its links
  std::vector<ResourceId> up_;                  ///< by level - 1
  std::vector<ResourceId> down_;                ///< by level - 1
  std::vector<std::int64_t> nodes_below_;       ///< by level - 1
  std::vector<Duration> hop_latency_;           ///< by level - 1: of crossing one of its switches
  std::vector<hardware::Balancing> balancing_;  ///< by level - 1
};

}  // namespace twinstep::topology
