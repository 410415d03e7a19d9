#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/flow_clock.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::engine {

/// Where a rank sits.
struct Place {
  std::uint32_t node = 0;
  std::uint32_t gpu = 0;
  bool operator==(Place const&) const = default;
};

/// One resource on a route, whatever the node: which of its instances a node uses, and how often.
struct Hop {
  std::uint32_t first = 0;        ///< the instance of the first nodes, as a resource of the network
  std::uint32_t nodes_below = 1;  ///< that share it
  std::uint32_t per_nodes = 1;    ///< from there to the instance of the next nodes
  double times = 1;               ///< that the route crosses it

  [[nodiscard]] std::uint32_t at(std::uint32_t node) const {
    return first + (nodes_below == 1 ? node : node / nodes_below) * per_nodes;
  }
};

/// The instances of a topology's resources as resources of a network, and the routes over them. Holds `nodes` nodes
/// from node 0 on and what stands above them. Size O(resources × nodes), and O(square of a node's GPUs) for its routes.
class RouteTable {
 public:
  RouteTable(topology::Topology const& topology, std::int64_t nodes, bool is_rail_optimised, FlowClock& clock);

  /// Between two GPUs of a node.
  [[nodiscard]] std::span<Hop const> inside(std::uint32_t from_gpu, std::uint32_t to_gpu) const {
    return within_[from_gpu * gpus_ + to_gpu];
  }
  /// From a GPU to its node's NVSwitch, and back: the port alone.
  [[nodiscard]] std::span<Hop const> to_switch(std::uint32_t gpu) const { return to_switch_[gpu]; }
  [[nodiscard]] std::span<Hop const> from_switch(std::uint32_t gpu) const { return from_switch_[gpu]; }
  /// Out of a node, and up to the tier where the nodes meet; and down again.
  [[nodiscard]] std::span<Hop const> out(std::uint32_t gpu, std::size_t level) const { return out_[gpu][level - 1]; }
  [[nodiscard]] std::span<Hop const> in(std::uint32_t gpu, std::size_t level) const { return in_[gpu][level - 1]; }
  /// The tier at which two ranks of different nodes meet: rails meet above the leaves.
  [[nodiscard]] std::size_t meeting_level(Place a, Place b) const;

  /// The resource of the network that `resource` is for a GPU.
  [[nodiscard]] std::uint32_t at(ResourceId resource, Place place) const;
  [[nodiscard]] std::uint32_t memory(Place place) const { return at(topology_->hbm(), place); }

  /// The topology's resource behind a resource of the network.
  [[nodiscard]] ResourceId origin(std::uint32_t resource) const { return origin_[resource]; }
  [[nodiscard]] std::size_t size() const { return origin_.size(); }

 private:
  using Hops = std::vector<Hop>;
  [[nodiscard]] Hop hop(ResourceId resource, std::int64_t gpu) const;
  [[nodiscard]] Hops hops(topology::Route route, std::int64_t gpu) const;

  topology::Topology const* topology_;
  std::uint32_t gpus_;
  std::vector<std::uint32_t> first_;  // by resource of the topology
  std::vector<ResourceId> origin_;
  std::vector<Hops> within_;
  std::vector<Hops> to_switch_;
  std::vector<Hops> from_switch_;
  std::vector<std::vector<Hops>> out_;  // by GPU, then by level - 1
  std::vector<std::vector<Hops>> in_;
  bool rails_meet_above_leaf_ = false;
};

}  // namespace twinstep::engine
