#pragma once

#include "sim/collectives/costs.hpp"
#include "sim/collectives/folded.hpp"
#include "sim/collectives/placement.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/collectives/timing.hpp"

/// The algorithms. Each has one file with its schedule (who sends what to whom), its timing (what a step waits) and its
/// folded cost, and one line for each in dispatch.cpp.
namespace twinstep::collectives {

// ring.cpp
[[nodiscard]] Schedule ring_schedule(program::CollectiveKind kind, std::int64_t ranks, std::int64_t root,
                                     std::int64_t ranks_per_node);
[[nodiscard]] Timing ring_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_ring(FoldRequest const& request);

// tree.cpp
[[nodiscard]] Schedule tree_schedule(std::int64_t ranks, std::int64_t ranks_per_node);
[[nodiscard]] Timing tree_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_tree(FoldRequest const& request);

// nvls.cpp
[[nodiscard]] Schedule nvls_schedule(program::CollectiveKind kind, std::int64_t ranks);
[[nodiscard]] Timing nvls_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_nvls(FoldRequest const& request);

// nvls_tree.cpp
[[nodiscard]] Schedule nvls_tree_schedule(std::int64_t ranks, std::int64_t ranks_per_node);
[[nodiscard]] Timing nvls_tree_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_nvls_tree(FoldRequest const& request);

// binomial.cpp
[[nodiscard]] Schedule binomial_schedule(program::CollectiveKind kind, std::int64_t ranks, std::int64_t root);
[[nodiscard]] Timing binomial_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_binomial(FoldRequest const& request);

// pairwise.cpp
[[nodiscard]] Schedule pairwise_schedule(program::CollectiveKind kind, std::int64_t ranks, std::int64_t root);
[[nodiscard]] Timing pairwise_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_pairwise(FoldRequest const& request);

}  // namespace twinstep::collectives
