#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/grid.hpp"

namespace twinstep::collectives {

/// Nodes in a row that hold equally many ranks of one group.
struct NodeRun {
  std::int64_t nodes = 1;
  std::int64_t ranks_per_node = 1;
  bool operator==(NodeRun const&) const = default;
};

/// How the ranks of one communicator group sit on nodes, in a form whose size does not grow with the group.
/// Ranks are placed in order: rank r is GPU r mod G of node r / G, where G is the GPUs of a node.
struct Layout {
  std::int64_t ranks = 1;
  std::vector<NodeRun> runs;  ///< in the order of the group
  std::int64_t first_node = 0;
  std::int64_t node_stride = 1;      ///< from one node of the group to the next
  std::int64_t first_gpu = 0;        ///< local index of the group's first rank in a node
  std::int64_t gpu_stride = 1;       ///< between neighbours inside a node
  std::int64_t groups_per_node = 1;  ///< groups of the same communicator that use one node at once, this one included
  bool operator==(Layout const&) const = default;

  [[nodiscard]] std::int64_t nodes() const;
  [[nodiscard]] std::int64_t most_ranks_per_node() const;
};

/// The layout of the group along `axes` of `grid` that `rank` belongs to. Cost independent of the number of ranks.
[[nodiscard]] Layout layout_of(program::Grid const& grid, program::AxisSet axes, RankId rank,
                               std::int64_t gpus_per_node);
[[nodiscard]] inline Layout layout_of(program::Grids const& grids, program::GridAxes along, RankId rank,
                                      std::int64_t gpus_per_node) {
  return layout_of(grids[along.grid], along.axes, rank, gpus_per_node);
}

/// The layout of the first `ranks` ranks of a cluster as one group.
[[nodiscard]] Layout layout_of(std::int64_t ranks, std::int64_t gpus_per_node);

}  // namespace twinstep::collectives
