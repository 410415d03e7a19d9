#pragma once

#include <vector>

#include "sim/collectives/folded.hpp"
#include "sim/collectives/placement.hpp"

namespace twinstep::collectives {

/// Adds up what one phase puts on every resource, and turns it into loads.
///
/// Traffic inside nodes and between them reach different fractions of their links' rates, so the two are kept apart:
/// a PCIe link that carries both is charged each at its own efficiency.
class LoadSheet {
 public:
  explicit LoadSheet(FoldRequest const& request) : LoadSheet{request.placement, request.cluster, request.topology} {}
  LoadSheet(Placement const& placement, hardware::Cluster const& cluster, topology::Topology const& topology);

  /// One group's bytes over a route inside a node, or over one that leaves or enters it. What GPUs share is charged
  /// for every group that shares it.
  void add_inside(topology::Route route, double bytes) { add(inside_, route, bytes); }
  void add_outside(topology::Route route, double bytes) { add(outside_, route, bytes); }
  /// Bytes that leave, and as many that enter, the busiest switch group of `level`, all groups together.
  void add_tier(std::size_t level, double bytes);
  /// Device memory traffic of a rank that sends `bytes`.
  void add_memory(double sent_bytes);

  /// Keeps the larger of both at every resource: nodes that hold different numbers of ranks.
  void take_larger(LoadSheet const& other);

  /// Loads in the order of resources, rounded up.
  [[nodiscard]] std::vector<Load> loads(Efficiency efficiency) const;

 private:
  void add(std::vector<double>& sheet, topology::Route route, double bytes);

  Placement const* placement_;
  hardware::Cluster const* cluster_;
  topology::Topology const* topology_;
  std::vector<double> inside_;   // bytes, by resource
  std::vector<double> outside_;  // bytes, by resource
  double memory_ = 0;
};

}  // namespace twinstep::collectives
