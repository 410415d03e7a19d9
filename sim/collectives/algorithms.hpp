#pragma once

#include "sim/collectives/folded.hpp"
#include "sim/collectives/placement.hpp"
#include "sim/collectives/schedule.hpp"

/// The algorithms. Each has one file with its schedule and its folded cost, and one line for each in
/// schedule.cpp and folded.cpp.
namespace twinstep::collectives {

/// One collective to fold. Has more than one rank and more than no bytes.
struct FoldRequest {
  program::CollectiveKind kind{};
  Bytes size;  ///< S, the large side
  Placement const& placement;
  hardware::Cluster const& cluster;
  topology::Topology const& topology;
};

// ring.cpp
[[nodiscard]] Schedule ring_schedule(program::CollectiveKind kind, std::int64_t ranks, std::int64_t root);
[[nodiscard]] Folded fold_ring(FoldRequest const& request);

// tree.cpp
[[nodiscard]] Schedule tree_schedule(program::CollectiveKind kind, std::int64_t ranks, std::int64_t root,
                                     std::int64_t ranks_per_node);
[[nodiscard]] Folded fold_tree(FoldRequest const& request);

// direct.cpp
[[nodiscard]] Schedule direct_schedule(program::CollectiveKind kind, std::int64_t ranks, std::int64_t root);
[[nodiscard]] Folded fold_direct(FoldRequest const& request);

}  // namespace twinstep::collectives
