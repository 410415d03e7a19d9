#pragma once

#include <optional>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/layout.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/program/kinds.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::collectives {

/// Bytes that the busiest instance of a resource carries.
struct Load {
  ResourceId resource;
  Bytes bytes;
  bool operator==(Load const&) const = default;
};

/// A fixed latency, then a transfer that ends when the slowest of its loads has passed.
struct Phase {
  Duration latency;
  std::vector<Load> loads;
  bool operator==(Phase const&) const = default;
};

/// A communication folded onto the ranks that are alike: what one of them waits for and what it puts on links.
struct Folded {
  Algorithm algorithm{};
  std::vector<Phase> phases;
  Bytes intra;  ///< that leave a rank for another of its node, summed over the ranks of one group
  Bytes inter;  ///< that leave a rank for another node, likewise
};

/// Time of a folded communication alone on the network.
[[nodiscard]] Duration time_alone(Folded const& folded, topology::Topology const& topology);

/// Folds one collective. `size` is its large side (see program::Collective). Without `forced` all_reduce, broadcast
/// and reduce take the faster of ring and tree at this size; all_gather and reduce_scatter take the ring; all_to_all,
/// gather and scatter send directly. One rank, or no bytes, costs nothing: no phases.
///
/// All groups of the communicator run at the same time: `Layout::groups_per_node` says how many of them share what
/// the GPUs of a node share. Loads are divided by LinkCost::efficiency, so that resources keep their stated rates.
/// Throws InputError if the forced algorithm cannot do the collective. Cost O(GPUs of a node), whatever the ranks;
/// O(its square) for direct messages.
[[nodiscard]] Folded fold(program::CollectiveKind kind, Bytes size, Layout const& layout,
                          hardware::Cluster const& cluster, topology::Topology const& topology,
                          std::optional<Algorithm> forced = {});

/// Folds one message between two ranks. A message to itself costs nothing: no phases.
[[nodiscard]] Folded fold_message(Bytes size, RankId from, RankId to, hardware::Cluster const& cluster,
                                  topology::Topology const& topology);

}  // namespace twinstep::collectives
