#include "sim/engine/exact/route_table.hpp"

#include <algorithm>
#include <map>

#include "sim/base/check.hpp"

namespace twinstep::engine {
namespace {

/// Whether flows of a tier are hashed onto its parallel uplinks.
bool is_hashed(topology::Topology const& topology, ResourceId id) {
  for (std::size_t level = 1; level < topology.levels(); ++level)
    if (topology.up(level) == id || topology.down(level) == id) return topology.uplink(level, 0, 0, 0).has_value();
  return false;
}

}  // namespace

RouteTable::RouteTable(topology::Topology const& topology, std::int64_t nodes, bool is_rail_optimised, Users users,
                       FlowClock& clock)
    : topology_{&topology},
      gpus_{static_cast<std::uint32_t>(topology.gpus_per_node())},
      rails_meet_above_leaf_{is_rail_optimised && topology.levels() > 1} {
  find_series(users);
  for (std::size_t r = 0; r < topology.resources().size(); ++r) add_resource(ResourceId{r}, nodes, clock);
  for (std::size_t condition = 0; condition <= topology.faulty_nodes().size(); ++condition)
    routes_.push_back(find_routes(condition));
}

/// Resources of a node that stand in the same routes, equally often. Nodes in another condition have other routes.
void RouteTable::find_series(Users users) {
  auto const& topology = *topology_;
  auto crossed = std::vector<std::vector<std::size_t>>(topology.resources().size());  // routes, by resource
  auto route_count = std::size_t{0};
  auto const cross = [&](topology::Route route) {
    for (auto const id : route) crossed[id.index()].push_back(route_count);
    ++route_count;
  };
  for (auto gpu = std::int64_t{0}; gpu < topology.gpus_per_node(); ++gpu) {
    for (auto peer = std::int64_t{0}; peer < topology.gpus_per_node(); ++peer) {
      if (peer == gpu) continue;
      cross(topology.within_node(gpu, peer));
      cross(topology.ring_link(gpu, peer));
    }
    if (topology.nics() == 0) continue;
    cross(topology.out_of_node(gpu));
    cross(topology.into_node(gpu));
  }
  auto const may_join = users == Users::kMessages && topology.faulty_nodes().empty();
  auto first_of = std::map<std::vector<std::size_t>, std::size_t>{};
  series_.resize(crossed.size());
  for (std::size_t r = 0; r < crossed.size(); ++r) {
    auto const joins = may_join && !crossed[r].empty();
    auto const first = joins ? first_of.try_emplace(crossed[r], r).first->second : r;
    series_[first].emplace_back(r);
  }
}

/// All instances, and where flows are hashed all parallel links of each.
void RouteTable::add_resource(ResourceId id, std::int64_t nodes, FlowClock& clock) {
  auto const& resource = topology_->resource(id);
  first_.push_back(static_cast<std::uint32_t>(origin_.size()));
  auto const& in_series = series_[id.index()];
  if (in_series.empty()) return;
  auto const links = is_hashed(*topology_, id) ? resource.links : 1;
  auto const instances = divide_up(nodes, resource.nodes_below) * resource.per_nodes;
  for (auto i = std::int64_t{0}; i < instances; ++i) {
    auto rate = topology_->bandwidth_of(id, i);
    for (auto const other : in_series) rate = std::min(rate, topology_->bandwidth_of(other, i));
    for (auto link = std::int64_t{0}; link < links; ++link) {
      clock.add_resource(rate * (1.0 / static_cast<double>(links)));
      origin_.push_back(id);
    }
  }
}

RouteTable::Routes RouteTable::find_routes(std::size_t condition) const {
  auto const& topology = *topology_;
  auto const gpus = topology.gpus_per_node();
  auto found = Routes{};
  for (auto gpu = std::int64_t{0}; gpu < gpus; ++gpu) {
    for (auto peer = std::int64_t{0}; peer < gpus; ++peer) {
      found.inside.push_back(hops(topology.under(topology.within_node(gpu, peer), condition), gpu));
      found.ring_link.push_back(peer == gpu ? Hops{}
                                            : hops(topology.under(topology.ring_link(gpu, peer), condition), gpu));
    }
    auto const neighbour = (gpu + 1) % gpus;
    auto port = hops(topology.under(topology.within_node(gpu, neighbour), condition), gpu);
    port.resize(std::min<std::size_t>(1, port.size()));
    found.to_switch.push_back(std::move(port));
    auto back = hops(topology.under(topology.within_node(neighbour, gpu), condition), gpu);
    back.erase(back.begin(), back.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(1, back.size())));
    found.from_switch.push_back(std::move(back));
    if (topology.nics() == 0) continue;
    found.out.push_back(hops(topology.under(topology.out_of_node(gpu), condition), gpu));
    found.in.push_back(hops(topology.under(topology.into_node(gpu), condition), gpu));
  }
  return found;
}

/// What a route crosses twice stands there once, with its weight.
RouteTable::Hops RouteTable::hops(topology::Route route, std::int64_t gpu) const {
  auto out = Hops{};
  for (auto const id : route) {
    if (series_[id.index()].empty()) continue;  // the one that it stands with is on the route too
    auto const& resource = topology_->resource(id);
    TWINSTEP_CHECK(resource.nodes_below == 1, "a route inside a node, or out of it, crosses what the node has");
    auto const first = first_[id.index()] + static_cast<std::uint32_t>(topology_->instance(id, 0, gpu));
    auto const known = std::ranges::find(out, first, &Hop::first);
    if (known == out.end())
      out.push_back({first, static_cast<std::uint32_t>(resource.per_nodes), 1});
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

std::uint32_t RouteTable::uplink(ResourceId id, std::size_t level, Place side, Place from, Place to,
                                 std::int64_t flow) const {
  auto const nic = [&](Place place) { return place.node * topology_->nics() + topology_->nic_of(place.gpu); };
  auto const link = topology_->uplink(level, nic(from), nic(to), flow);
  if (!link) return at(id, side);
  auto const instance = topology_->instance(id, side.node, side.gpu);
  return first_[id.index()] + static_cast<std::uint32_t>(instance * topology_->resource(id).links + *link);
}

}  // namespace twinstep::engine
