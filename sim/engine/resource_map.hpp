#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/collectives/folded.hpp"
#include "sim/engine/exact/route_table.hpp"
#include "sim/engine/fidelity.hpp"
#include "sim/engine/flow_clock.hpp"
#include "sim/engine/machine.hpp"
#include "sim/program/projection.hpp"

namespace twinstep::engine {

/// Which resources of the network each cell uses.
///
/// The topology shows one node for all. Cells whose representatives sit on different nodes have links of their own;
/// what stands above several nodes (a leaf's uplink) they share if their nodes do; device memory belongs to a cell
/// alone. Exact, every cell is a rank and uses the instances that serve it.
class ResourceMap {
 public:
  ResourceMap(program::Projection const& cells, Machine const& machine, Fidelity fidelity, FlowClock& clock);

  /// The device memory of `cell`.
  [[nodiscard]] std::uint32_t memory(program::CellId cell) const {
    return routes_ ? routes_->memory(place(cell)) : memory_[cell.index()];
  }
  /// Where `cell` sits, and the routes from there. Exact only.
  [[nodiscard]] Place place(program::CellId cell) const { return places_[cell.index()]; }
  [[nodiscard]] RouteTable const& routes() const { return *routes_; }
  /// Adds what `loads` put on the resources of `cell` to `uses`; a resource that is already there is not added twice.
  void add_uses(std::span<collectives::Load const> loads, program::CellId cell, std::vector<Use>& uses) const;
  /// Likewise of a message that `cell` sends, or receives: what leads into its node, or out of it, it does not use.
  void add_uses_but(topology::Heading heading, std::span<collectives::Load const> loads, program::CellId cell,
                    topology::Topology const& topology, std::vector<Use>& uses) const;
  void add_use(ResourceId resource, double bytes, program::CellId cell, std::vector<Use>& uses) const;

  /// The topology's resource behind a resource of the network.
  [[nodiscard]] ResourceId origin(std::uint32_t resource) const {
    return routes_ ? routes_->origin(resource) : origin_[resource];
  }
  [[nodiscard]] std::size_t size() const { return routes_ ? routes_->size() : origin_.size(); }

 private:
  void map_ranks(program::Projection const& cells, Machine const& machine, FlowClock& clock);
  void map_views(program::Projection const& cells, Machine const& machine, FlowClock& clock);
  [[nodiscard]] std::uint32_t find(ResourceId resource, program::CellId cell) const;

  std::size_t per_view_ = 0;  // resources of the topology
  ResourceId hbm_;
  std::vector<std::uint32_t> view_of_cell_;  // cells on one node share a view
  std::vector<std::uint32_t> resource_;      // by view, then by topology resource
  std::vector<std::uint32_t> memory_;        // by cell
  std::vector<ResourceId> origin_;

  std::vector<Place> places_;  // by cell
  std::optional<RouteTable> routes_;
};

}  // namespace twinstep::engine
