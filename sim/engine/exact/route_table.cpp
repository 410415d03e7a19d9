#include "sim/engine/exact/route_table.hpp"

#include <algorithm>

namespace twinstep::engine {

RouteTable::RouteTable(topology::Topology const& topology, std::int64_t nodes, bool is_rail_optimised, FlowClock& clock)
    : topology_{&topology},
      gpus_{static_cast<std::uint32_t>(topology.gpus_per_node())},
      rails_meet_above_leaf_{is_rail_optimised && topology.levels() > 1} {
  for (std::size_t r = 0; r < topology.resources().size(); ++r) {
    auto const& resource = topology.resource(ResourceId{r});
    first_.push_back(static_cast<std::uint32_t>(origin_.size()));
    auto const count = divide_up(nodes, resource.nodes_below) * resource.per_nodes;
    for (auto i = std::int64_t{0}; i < count; ++i) {
      clock.add_resource(resource.bandwidth);
      origin_.emplace_back(r);
    }
  }
  auto const gpus = topology.gpus_per_node();
  for (auto gpu = std::int64_t{0}; gpu < gpus; ++gpu) {
    for (auto peer = std::int64_t{0}; peer < gpus; ++peer)
      within_.push_back(hops(topology.within_node(gpu, peer), gpu));
    auto const neighbour = (gpu + 1) % gpus;
    auto const away = topology.within_node(gpu, neighbour);
    auto const back = topology.within_node(neighbour, gpu);
    to_switch_.push_back(hops(away.first(std::min<std::size_t>(1, away.size())), gpu));
    from_switch_.push_back(hops(back.last(std::min<std::size_t>(1, back.size())), gpu));
    if (topology.nics() == 0) continue;
    auto out = hops(topology.out_of_node(gpu), gpu);
    auto in = hops(topology.into_node(gpu), gpu);
    out_.push_back({out});
    in_.push_back({in});
    for (std::size_t level = 1; level < topology.levels(); ++level) {
      out.push_back(hop(topology.up(level), gpu));
      in.push_back(hop(topology.down(level), gpu));
      out_.back().push_back(out);
      in_.back().push_back(in);
    }
  }
}

Hop RouteTable::hop(ResourceId id, std::int64_t gpu) const {
  auto const& resource = topology_->resource(id);
  return {first_[id.index()] + static_cast<std::uint32_t>(topology_->instance(id, 0, gpu)),
          static_cast<std::uint32_t>(resource.nodes_below), static_cast<std::uint32_t>(resource.per_nodes), 1};
}

/// What a route crosses twice stands there once, with its weight.
RouteTable::Hops RouteTable::hops(topology::Route route, std::int64_t gpu) const {
  auto out = Hops{};
  for (auto const id : route) {
    auto const next = hop(id, gpu);
    auto const known = std::ranges::find(out, next.first, &Hop::first);
    if (known == out.end())
      out.push_back(next);
    else
      known->times += 1;
  }
  return out;
}

std::size_t RouteTable::meeting_level(Place a, Place b) const {
  auto const level = topology_->meeting_level(a.node, b.node);
  if (level == 1 && rails_meet_above_leaf_ && topology_->nic_of(a.gpu) != topology_->nic_of(b.gpu)) return 2;
  return level;
}

std::uint32_t RouteTable::at(ResourceId resource, Place place) const {
  return first_[resource.index()] + static_cast<std::uint32_t>(topology_->instance(resource, place.node, place.gpu));
}

}  // namespace twinstep::engine
