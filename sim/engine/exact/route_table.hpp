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
  std::uint32_t first = 0;      ///< the instance of node 0, as a resource of the network
  std::uint32_t per_nodes = 1;  ///< from a node's instance to the next node's
  double times = 1;             ///< that the route crosses it

  [[nodiscard]] std::uint32_t at(std::uint32_t node) const { return first + node * per_nodes; }
};

/// Who loads the links: messages alone, or copies and kernels beside them.
enum class Users : std::uint8_t { kMessages, kAll };

/// The instances of a topology's resources as resources of a network, and the routes over them. Holds `nodes` nodes
/// from node 0 on and what stands above them. Size O(resources × nodes), and O(square of a node's GPUs) for the routes,
/// once for every condition that nodes are in.
///
/// Links in series, which the same messages cross (a GPU's PCIe and the NIC that it has for itself), are one resource
/// as fast as the slowest of them. Where copies use some of them too, each stands for itself.
class RouteTable {
 public:
  RouteTable(topology::Topology const& topology, std::int64_t nodes, bool is_rail_optimised, Users users,
             FlowClock& clock);

  /// Between two GPUs of a node: of a message by itself, or between neighbours of a ring.
  [[nodiscard]] std::span<Hop const> inside(Place from, std::uint32_t to_gpu) const {
    return routes(from.node).inside[from.gpu * gpus_ + to_gpu];
  }
  [[nodiscard]] std::span<Hop const> ring_link(Place from, std::uint32_t to_gpu) const {
    return routes(from.node).ring_link[from.gpu * gpus_ + to_gpu];
  }
  /// From a GPU to its node's NVSwitch, and back: the port alone.
  [[nodiscard]] std::span<Hop const> to_switch(Place from) const { return routes(from.node).to_switch[from.gpu]; }
  [[nodiscard]] std::span<Hop const> from_switch(Place to) const { return routes(to.node).from_switch[to.gpu]; }
  /// From a GPU to the first switch of the fabric, and back.
  [[nodiscard]] std::span<Hop const> out(Place from) const { return routes(from.node).out[from.gpu]; }
  [[nodiscard]] std::span<Hop const> in(Place to) const { return routes(to.node).in[to.gpu]; }
  /// The tier at which two ranks of different nodes meet: rails meet above the leaves.
  [[nodiscard]] std::size_t meeting_level(Place a, Place b) const;
  /// From tier `level` up, and down to it, on the way from one rank to another. Where flows are hashed onto parallel
  /// uplinks, `flow` numbers this one among those of the two ranks.
  [[nodiscard]] std::uint32_t up(std::size_t level, Place from, Place to, std::int64_t flow) const {
    return uplink(topology_->up(level), level, from, from, to, flow);
  }
  [[nodiscard]] std::uint32_t down(std::size_t level, Place from, Place to, std::int64_t flow) const {
    return uplink(topology_->down(level), level, to, from, to, flow);
  }

  /// The resource of the network that `resource` is for a GPU. Not for hashed uplinks.
  [[nodiscard]] std::uint32_t at(ResourceId resource, Place place) const {
    return first_[resource.index()] + static_cast<std::uint32_t>(topology_->instance(resource, place.node, place.gpu));
  }
  [[nodiscard]] std::uint32_t memory(Place place) const {
    return first_[topology_->hbm().index()] + place.node * gpus_ + place.gpu;
  }

  /// The topology's resource behind a resource of the network, and all of those that stand in series with it.
  [[nodiscard]] ResourceId origin(std::uint32_t resource) const { return origin_[resource]; }
  [[nodiscard]] std::span<ResourceId const> series(std::uint32_t resource) const {
    return series_[origin_[resource].index()];
  }
  [[nodiscard]] std::size_t size() const { return origin_.size(); }

 private:
  using Hops = std::vector<Hop>;
  /// Of nodes in one condition.
  struct Routes {
    std::vector<Hops> inside;
    std::vector<Hops> ring_link;
    std::vector<Hops> to_switch;
    std::vector<Hops> from_switch;
    std::vector<Hops> out;
    std::vector<Hops> in;
  };

  [[nodiscard]] Routes const& routes(std::uint32_t node) const {
    return routes_[routes_.size() == 1 ? 0 : topology_->condition_of(node)];
  }
  void find_series(Users users);
  void add_resource(ResourceId id, std::int64_t nodes, FlowClock& clock);
  [[nodiscard]] Routes find_routes(std::size_t condition) const;
  [[nodiscard]] Hops hops(topology::Route route, std::int64_t gpu) const;
  [[nodiscard]] std::uint32_t uplink(ResourceId resource, std::size_t level, Place side, Place from, Place to,
                                     std::int64_t flow) const;

  topology::Topology const* topology_;
  std::uint32_t gpus_;
  std::vector<std::uint32_t> first_;  // by resource of the topology
  std::vector<ResourceId> origin_;
  std::vector<std::vector<ResourceId>> series_;  // by resource of the topology; empty if it stands with another
  std::vector<Routes> routes_;                   // by condition
  bool rails_meet_above_leaf_ = false;
};

}  // namespace twinstep::engine
