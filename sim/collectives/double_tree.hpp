#pragma once

#include <cstdint>
#include <optional>

#include "sim/collectives/costs.hpp"

namespace twinstep::collectives {

/// NCCL's double binary tree over nodes 0 … nodes - 1: half of the data takes each of two trees, and a node is a leaf
/// in at least one of them, so none forwards everything twice. The second tree is the first one mirrored, or shifted by
/// one if the number of nodes is odd (NVIDIA/nccl src/graph/trees.cc; Sanders, Speck, Träff, Parallel Computing 35(12),
/// 2009).
///
/// Up-step l is that of the nodes at level l, leaves first; down-steps take the same levels backwards.
struct DoubleTree {
  std::int64_t nodes = 1;

  /// Steps up, and as many down.
  [[nodiscard]] std::int64_t levels() const;
  /// Where `node` sends its part of tree 0 or 1 in up-step `step`, if anywhere.
  [[nodiscard]] std::optional<std::int64_t> up(std::int64_t node, std::int64_t tree, std::int64_t step) const;
  /// The same of down-step `step`, to child 0 or 1.
  [[nodiscard]] std::optional<std::int64_t> down(std::int64_t node, std::int64_t tree, std::int64_t step,
                                                 std::int64_t child) const;
};

/// m(N): bytes that the busiest of N nodes sends, and receives, in an all_reduce over a double tree, in buffers. A node
/// between two others passes half of the data three ways in one tree and one way in the other.
[[nodiscard]] double busiest_node_share(std::int64_t nodes);

/// From a leaf of a tree of nodes up `steps` levels, the j-th of them between nodes that are 2^j apart.
[[nodiscard]] Duration climb(FoldRequest const& request, std::int64_t steps);

}  // namespace twinstep::collectives
