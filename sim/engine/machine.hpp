#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "sim/cost/kernel_cost.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::engine {

/// The environment of the virtual clock: a cluster, its links and its kernel costs. Made once, used by many runs of
/// programs that have as many ranks.
class Machine {
 public:
  /// For programs of `ranks`, which wait for each other; all GPUs of the cluster have one if it is absent.
  explicit Machine(hardware::Cluster cluster, std::optional<std::int64_t> ranks = {})
      : cluster_{std::move(cluster)},
        topology_{cluster_},
        kernels_{cluster_.node().gpu, cluster_.stack,
                 cost::wait_for_latest(cluster_, ranks.value_or(cluster_.gpus()))} {}

  [[nodiscard]] hardware::Cluster const& cluster() const { return cluster_; }
  [[nodiscard]] topology::Topology const& topology() const { return topology_; }
  [[nodiscard]] cost::KernelModel const& kernels() const { return kernels_; }

 private:
  hardware::Cluster cluster_;
  topology::Topology topology_;
  cost::KernelModel kernels_;
};

}  // namespace twinstep::engine
