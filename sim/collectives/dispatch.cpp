#include "sim/collectives/dispatch.hpp"

#include <algorithm>
#include <array>

#include "sim/base/check.hpp"

namespace twinstep::collectives {
namespace {

using Kind = CollectiveKind;

bool is_all_reduce(Kind kind) {
  return kind == Kind::kAllReduce;
}
bool is_broadcast_or_reduce(Kind kind) {
  return kind == Kind::kBroadcast || kind == Kind::kReduce;
}
bool is_gather_like(Kind kind) {
  return kind == Kind::kAllGather || kind == Kind::kReduceScatter;
}
bool is_gather_or_scatter(Kind kind) {
  return kind == Kind::kGather || kind == Kind::kScatter;
}

constexpr auto kAlgorithms = std::to_array<AlgorithmEntry>({
    {Algorithm::kRing,
     [](Kind kind) { return is_all_reduce(kind) || is_broadcast_or_reduce(kind) || is_gather_like(kind); },
     ring_schedule, ring_timing, fold_ring, Traffic::kNeighbours, true},
    {Algorithm::kTree, is_all_reduce,
     [](Kind, std::int64_t ranks, std::int64_t, std::int64_t per_node) { return tree_schedule(ranks, per_node); },
     tree_timing, fold_tree, Traffic::kNeighbours, true},
    {Algorithm::kCollNetDirect, is_all_reduce,
     [](Kind, std::int64_t ranks, std::int64_t, std::int64_t per_node) {
       return collnet_schedule(Algorithm::kCollNetDirect, ranks, per_node);
     },
     collnet_timing, fold_collnet, Traffic::kPeers},
    {Algorithm::kCollNetChain, is_all_reduce,
     [](Kind, std::int64_t ranks, std::int64_t, std::int64_t per_node) {
       return collnet_schedule(Algorithm::kCollNetChain, ranks, per_node);
     },
     collnet_timing, fold_collnet},
    {Algorithm::kNvls, [](Kind kind) { return is_all_reduce(kind) || is_gather_like(kind); },
     [](Kind kind, std::int64_t ranks, std::int64_t, std::int64_t) { return nvls_schedule(kind, ranks); }, nvls_timing,
     fold_nvls, Traffic::kMulticast},
    {Algorithm::kNvlsTree, is_all_reduce,
     [](Kind, std::int64_t ranks, std::int64_t, std::int64_t per_node) { return nvls_tree_schedule(ranks, per_node); },
     nvls_tree_timing, fold_nvls_tree, Traffic::kMulticast},
    {Algorithm::kPat, is_gather_like,
     [](Kind kind, std::int64_t ranks, std::int64_t, std::int64_t) { return pat_schedule(kind, ranks); }, pat_timing,
     fold_pat},
    {Algorithm::kHalvingDoubling, [](Kind kind) { return is_all_reduce(kind) || is_gather_like(kind); },
     [](Kind kind, std::int64_t ranks, std::int64_t, std::int64_t) { return halving_doubling_schedule(kind, ranks); },
     halving_doubling_timing, fold_halving_doubling},
    {Algorithm::kBinomial, [](Kind kind) { return is_broadcast_or_reduce(kind) || is_gather_or_scatter(kind); },
     [](Kind kind, std::int64_t ranks, std::int64_t root, std::int64_t) {
       return binomial_schedule(kind, ranks, root);
     },
     binomial_timing, fold_binomial},
    {Algorithm::kPairwise,
     [](Kind kind) { return kind == Kind::kAllToAll || is_gather_or_scatter(kind) || is_gather_like(kind); },
     pairwise_schedule, pairwise_timing, fold_pairwise, Traffic::kPeers},
    {Algorithm::kNaive,
     [](Kind kind) { return is_all_reduce(kind) || is_broadcast_or_reduce(kind) || is_gather_like(kind); },
     [](Kind kind, std::int64_t ranks, std::int64_t root, std::int64_t) { return naive_schedule(kind, ranks, root); },
     naive_timing, fold_naive, Traffic::kPeers},
});

}  // namespace

std::span<AlgorithmEntry const> all_algorithms() {
  return kAlgorithms;
}

AlgorithmEntry const& algorithm_of(Algorithm algorithm) {
  auto const* const entry = std::ranges::find(kAlgorithms, algorithm, &AlgorithmEntry::algorithm);
  TWINSTEP_CHECK(entry != kAlgorithms.end(), "every algorithm has its entry");
  return *entry;
}

}  // namespace twinstep::collectives
