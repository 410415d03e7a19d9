#include "sim/engine/resource_map.hpp"

#include <algorithm>

namespace twinstep::engine {

using program::CellId;

ResourceMap::ResourceMap(program::Projection const& cells, Machine const& machine, Fidelity fidelity,
                         FlowClock& clock) {
  if (fidelity == Fidelity::kExact)
    map_ranks(cells, machine, clock);
  else
    map_views(cells, machine, clock);
}

void ResourceMap::map_ranks(program::Projection const& cells, Machine const& machine, FlowClock& clock) {
  auto const& topology = machine.topology();
  auto const gpus = static_cast<std::size_t>(topology.gpus_per_node());
  for (std::size_t c = 0; c < cells.size(); ++c) {
    auto const rank = cells.representative(CellId{c}).index();
    places_.push_back({static_cast<std::uint32_t>(rank / gpus), static_cast<std::uint32_t>(rank % gpus)});
  }
  auto const nodes = std::int64_t{places_.back().node} + 1;
  auto const has_rails = machine.cluster().fabric.is_rail_optimised && topology.nics() > 1;
  routes_.emplace(topology, nodes, has_rails, Users::kAll, clock);
}

void ResourceMap::map_views(program::Projection const& cells, Machine const& machine, FlowClock& clock) {
  auto const& topology = machine.topology();
  auto const resources = topology.resources();
  auto const node_count = machine.cluster().nodes();
  per_view_ = resources.size();
  hbm_ = topology.hbm();

  auto const add = [&](std::size_t r) {
    origin_.emplace_back(r);
    return clock.add_resource(resources[r].bandwidth);
  };
  auto nodes = std::vector<std::int64_t>{};  // by view
  for (std::size_t c = 0; c < cells.size(); ++c) {
    auto const node = static_cast<std::int64_t>(cells.representative(CellId{c}).index()) / topology.gpus_per_node();
    auto const view = static_cast<std::size_t>(std::ranges::find(nodes, node) - nodes.begin());
    view_of_cell_.push_back(static_cast<std::uint32_t>(view));
    memory_.push_back(add(hbm_.index()));
    if (view < nodes.size()) continue;
    nodes.push_back(node);
    for (std::size_t r = 0; r < per_view_; ++r) {
      // Which of the resource's instances serves this node; an earlier view may have it already.
      auto const instance = [&](std::int64_t n) {
        return std::min(resources[r].instances, node_count) * n / node_count;
      };
      auto const same = std::ranges::find_if(nodes, [&](std::int64_t n) { return instance(n) == instance(node); });
      auto const owner = static_cast<std::size_t>(same - nodes.begin());
      resource_.push_back(owner < view ? resource_[owner * per_view_ + r] : add(r));
    }
  }
}

std::uint32_t ResourceMap::find(ResourceId resource, CellId cell) const {
  if (routes_) return routes_->at(resource, place(cell));
  if (resource == hbm_) return memory_[cell.index()];
  return resource_[view_of_cell_[cell.index()] * per_view_ + resource.index()];
}

void ResourceMap::add_use(ResourceId resource, double bytes, CellId cell, std::vector<Use>& uses) const {
  auto const found = find(resource, cell);
  if (std::ranges::find(uses, found, &Use::resource) == uses.end()) uses.push_back({found, bytes});
}

void ResourceMap::add_uses_but(topology::Heading heading, std::span<collectives::Load const> loads, CellId cell,
                               topology::Topology const& topology, std::vector<Use>& uses) const {
  for (auto const& load : loads)
    if (topology.resource(load.resource).heading != heading)
      add_use(load.resource, static_cast<double>(load.bytes.count()), cell, uses);
}

void ResourceMap::add_uses(std::span<collectives::Load const> loads, CellId cell, std::vector<Use>& uses) const {
  auto const may_repeat = !uses.empty();  // the loads of one phase name each resource once
  for (auto const& load : loads) {
    if (may_repeat)
      add_use(load.resource, static_cast<double>(load.bytes.count()), cell, uses);
    else
      uses.push_back({find(load.resource, cell), static_cast<double>(load.bytes.count())});
  }
}

}  // namespace twinstep::engine
