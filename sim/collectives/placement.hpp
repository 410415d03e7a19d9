#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/layout.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::collectives {

/// The facts about a layout that the costs of algorithms are written in.
///
/// Two simplifications: groups that lie interleaved on nodes (node_stride > 1) fill the nodes between, and groups of
/// one communicator do not straddle a switch group that another one also straddles.
class Placement {
 public:
  Placement(Layout const& layout, hardware::Cluster const& cluster, topology::Topology const& topology);

  std::int64_t ranks = 1;           ///< n
  std::int64_t nodes = 1;           ///< N
  std::int64_t ranks_per_node = 1;  ///< p, on the fullest node
  bool is_rail_optimised = false;

  /// The GPU of the i-th rank of a node that holds `held` ranks.
  [[nodiscard]] std::int64_t gpu(std::int64_t i, std::int64_t held) const;
  /// The different numbers of ranks that its nodes hold.
  [[nodiscard]] std::vector<std::int64_t> const& ranks_held() const { return ranks_held_; }
  /// The part of a GPU's links that rings through such a node can use (Topology::ring_share). Requires one of
  /// ranks_held().
  [[nodiscard]] double ring_share(std::int64_t held) const;
  /// NICs that one group uses on a node that holds `held` ranks.
  [[nodiscard]] std::int64_t nics(std::int64_t held) const;
  /// The ranks that each node holds, in the order of the group. Cost O(nodes).
  [[nodiscard]] std::vector<std::int64_t> held_by_node() const;
  /// Ranks on whose node also the one `distance` > 0 places further on sits.
  [[nodiscard]] std::int64_t neighbours_in_nodes(std::int64_t distance) const;
  /// Ordered pairs of different ranks of the group that share a node.
  [[nodiscard]] std::int64_t pairs_in_nodes() const;
  /// How many groups of the communicator have a GPU among `gpus` neighbouring ones.
  [[nodiscard]] std::int64_t groups_among(std::int64_t gpus) const;
  /// How many of them share one instance of a resource inside a node with a GPU of this group.
  [[nodiscard]] double groups_sharing(ResourceId resource) const { return groups_sharing_[resource.index()]; }
  [[nodiscard]] std::int64_t groups_per_node() const { return layout_->groups_per_node; }
  /// Whether a switch of tier `level` is a rail: a leaf of a rail-optimised fabric.
  [[nodiscard]] bool is_rail(std::size_t level) const { return level == 1 && is_rail_optimised; }
  /// Groups of the communicator that send through one switch of tier `level`: those on the GPUs of one NIC if it is a
  /// rail, and all of a node otherwise.
  [[nodiscard]] std::int64_t groups_on_switch(std::size_t level) const;

  /// Switch groups of tier `level` that the group reaches into; nodes of the group in the fullest of them; and how
  /// many groups of the communicator share one, counted in groups of nodes.
  [[nodiscard]] std::int64_t switch_groups(std::size_t level) const;
  [[nodiscard]] std::int64_t nodes_per_switch_group(std::size_t level) const;
  /// Which of them the group's `node`-th node hangs in.
  [[nodiscard]] std::int64_t switch_group_of(std::size_t level, std::int64_t node) const;
  [[nodiscard]] std::int64_t interleaved(std::size_t level) const;
  /// Whether tier `level` has uplinks and the group needs them to reach all its nodes.
  [[nodiscard]] bool leaves(std::size_t level) const;
  /// The conditions that nodes of the group are in: the common one, and those of its nodes with faults.
  [[nodiscard]] std::vector<std::size_t> const& conditions() const { return conditions_; }
  /// Of the slowest switch group of tier `level` that the group reaches into.
  [[nodiscard]] double slowdown_of_tier(std::size_t level) const;
  /// The tier at which the farthest nodes of the group meet, and those that are `apart` places apart.
  [[nodiscard]] std::size_t farthest_meeting() const;
  [[nodiscard]] std::size_t meeting(std::int64_t apart) const;

 private:
  [[nodiscard]] double find_ring_share(std::int64_t held) const;

  Layout const* layout_;
  topology::Topology const* topology_;
  std::int64_t gpus_per_node_;
  std::vector<std::int64_t> nodes_below_;  // by level - 1
  std::vector<std::int64_t> ranks_held_;
  std::vector<double> ring_shares_;     // by place in ranks_held_
  std::vector<double> groups_sharing_;  // by resource
  std::vector<std::size_t> conditions_;
};

}  // namespace twinstep::collectives
