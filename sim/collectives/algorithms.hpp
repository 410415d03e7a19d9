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
[[nodiscard]] Schedule ring_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root,
                                     std::int64_t ranks_per_node);
[[nodiscard]] Timing ring_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_ring(FoldRequest const& request);

// tree.cpp
[[nodiscard]] Schedule tree_schedule(std::int64_t ranks, std::int64_t ranks_per_node);
[[nodiscard]] Timing tree_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_tree(FoldRequest const& request);

// collnet.cpp
[[nodiscard]] Schedule collnet_schedule(Algorithm algorithm, std::int64_t ranks, std::int64_t ranks_per_node);
[[nodiscard]] Timing collnet_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_collnet(FoldRequest const& request);

// nvls.cpp
[[nodiscard]] Schedule nvls_schedule(CollectiveKind kind, std::int64_t ranks);
[[nodiscard]] Timing nvls_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_nvls(FoldRequest const& request);

// nvls_tree.cpp
[[nodiscard]] Schedule nvls_tree_schedule(std::int64_t ranks, std::int64_t ranks_per_node);
[[nodiscard]] Timing nvls_tree_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_nvls_tree(FoldRequest const& request);

// pat.cpp
[[nodiscard]] Schedule pat_schedule(CollectiveKind kind, std::int64_t ranks);
[[nodiscard]] Timing pat_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_pat(FoldRequest const& request);

// halving_doubling.cpp
[[nodiscard]] Schedule halving_doubling_schedule(CollectiveKind kind, std::int64_t ranks);
[[nodiscard]] Timing halving_doubling_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_halving_doubling(FoldRequest const& request);

// binomial.cpp
[[nodiscard]] Schedule binomial_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root);
[[nodiscard]] Timing binomial_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_binomial(FoldRequest const& request);

// pairwise.cpp
[[nodiscard]] Schedule pairwise_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root,
                                         std::int64_t ranks_per_node);
/// The all_to_all that sends what `splits` say, in elements.
[[nodiscard]] Schedule uneven_all_to_all(Splits splits, std::int64_t ranks_per_node = 1);
[[nodiscard]] Timing pairwise_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_pairwise(FoldRequest const& request);

// naive.cpp
[[nodiscard]] Schedule naive_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root);
[[nodiscard]] Timing naive_timing(FoldRequest const& request);
[[nodiscard]] Folded fold_naive(FoldRequest const& request);

}  // namespace twinstep::collectives
