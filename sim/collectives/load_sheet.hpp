#pragma once

#include <vector>

#include "sim/collectives/folded.hpp"
#include "sim/collectives/placement.hpp"

namespace twinstep::collectives {

/// Adds up what one phase puts on every resource, and turns it into loads.
///
/// Traffic inside nodes and between them reach different fractions of their links' rates, so the two are kept apart:
/// a PCIe link that carries both is charged each at its own efficiency.
///
/// Where the group touches nodes with faults, the same is added up for each of them, over their routes and at their
/// rates; a load is the one that takes longest, in bytes at the stated rate.
class LoadSheet {
 public:
  explicit LoadSheet(FoldRequest const& request) : LoadSheet{request.placement, request.cluster, request.topology} {}
  LoadSheet(Placement const& placement, hardware::Cluster const& cluster, topology::Topology const& topology);

  /// One group's bytes over a route inside a node, or over one that leaves or enters it. What GPUs share is charged
  /// for every group that shares it.
  void add_inside(topology::Route route, double bytes) { add(&Sheet::inside, route, bytes); }
  void add_outside(topology::Route route, double bytes) { add(&Sheet::outside, route, bytes); }
  /// Bytes from the i-th to the j-th rank of a node that holds `held`, neighbours in rings or chains: over all links
  /// that the node's ranks have to one another.
  void add_neighbours(std::int64_t i, std::int64_t j, std::int64_t held, double bytes);
  /// Bytes that leave, and as many that enter, the busiest switch group of `level`, all groups together.
  void add_tier(std::size_t level, double bytes);
  /// The same of every tier that the group needs, for one group whose nodes, and so the switch groups of a tier, are
  /// joined by a ring or a tree: `share` of `size`, by how many are joined. On rails each NIC's part takes its own.
  void add_tiers(double size, double (*share)(std::int64_t groups));
  /// Device memory traffic of a rank that sends `bytes`.
  void add_memory(double sent_bytes);

  /// Keeps the larger of both at every resource: nodes that hold different numbers of ranks.
  void take_larger(LoadSheet const& other);

  /// Loads in the order of resources, rounded up.
  [[nodiscard]] std::vector<Load> loads(Efficiency efficiency) const;

 private:
  /// Bytes by resource, on nodes of one condition.
  struct Sheet {
    std::size_t condition = 0;
    std::vector<double> inside;
    std::vector<double> outside;
  };

  void add(std::vector<double> Sheet::*part, topology::Route route, double bytes);
  [[nodiscard]] double bytes(Sheet const& sheet, std::size_t resource, Efficiency efficiency) const;

  Placement const* placement_;
  hardware::Cluster const* cluster_;
  topology::Topology const* topology_;
  std::vector<Sheet> sheets_;  // by condition that the group's nodes are in
  double memory_ = 0;
};

}  // namespace twinstep::collectives
