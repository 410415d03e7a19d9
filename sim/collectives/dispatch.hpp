#pragma once

#include <span>

#include "sim/collectives/algorithms.hpp"

namespace twinstep::collectives {

/// What an algorithm can do, and how. One line for each in dispatch.cpp.
struct AlgorithmEntry {
  Algorithm algorithm{};
  bool (*does)(CollectiveKind kind) = nullptr;
  Schedule (*schedule)(CollectiveKind kind, std::int64_t ranks, std::int64_t root,
                       std::int64_t ranks_per_node) = nullptr;
  Timing (*timing)(FoldRequest const& request) = nullptr;
  Folded (*fold)(FoldRequest const& request) = nullptr;
  Traffic traffic = Traffic::kNeighbours;  ///< what its messages are to the links
  bool takes_ring_links = false;           ///< between neighbours of a node (Topology::ring_link)
};

[[nodiscard]] std::span<AlgorithmEntry const> all_algorithms();
[[nodiscard]] AlgorithmEntry const& algorithm_of(Algorithm algorithm);

}  // namespace twinstep::collectives
