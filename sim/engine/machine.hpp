#pragma once

#include <utility>

#include "sim/cost/kernel_cost.hpp"
#include "sim/cost/latest_rank.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::engine {

/// The environment of the virtual clock: a cluster, its links and its kernel costs. Made once, used by many runs.
class Machine {
 public:
  explicit Machine(hardware::Cluster cluster)
      : cluster_{std::move(cluster)},
        topology_{cluster_},
        kernels_{cluster_.node.gpu, cluster_.stack, cost::wait_for_latest(cluster_)} {}

  [[nodiscard]] hardware::Cluster const& cluster() const { return cluster_; }
  [[nodiscard]] topology::Topology const& topology() const { return topology_; }
  [[nodiscard]] cost::KernelModel const& kernels() const { return kernels_; }

 private:
  hardware::Cluster cluster_;
  topology::Topology topology_;
  cost::KernelModel kernels_;
};

}  // namespace twinstep::engine
