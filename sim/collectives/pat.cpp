#include <algorithm>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/partners.hpp"

/// PAT, parallel aggregated trees. Every rank's chunk takes a binomial tree of its own, and the trees are rotations of
/// one another: in each step all chunks travel the same distance, so a rank sends to one peer only and aggregates what
/// it has for it. The farthest distance comes first in all_gather and last in reduce_scatter, when there is least to
/// send (NVIDIA/nccl src/include/collectives.h, PatAGAlgorithm and PatRSAlgorithm; Jeaugey, *PAT: a new algorithm for
/// all-gather and reduce-scatter operations at scale*, arXiv:2506.20252, 2025).
namespace twinstep::collectives {
namespace {

/// Chunks that travel `reach` places in their step: those whose way has an odd number of them behind it.
std::int64_t chunks_travelling(std::int64_t ranks, std::int64_t reach) {
  return ((ranks - 1) / reach + 1) / 2;
}

/// Rank r holds the chunks that have come an even number of `reach` places, and passes on those that have further to
/// go; each lane carries one of them.
std::optional<Message> pat_gather_step(Schedule const& pat, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const reach = std::int64_t{1} << (pat.steps - 1 - step);
  if (lane >= chunks_travelling(pat.ranks, reach)) return std::nullopt;
  return Message{wrap(rank + reach, pat.ranks), wrap(rank - 2 * lane * reach, pat.ranks), 1, false};
}

/// The same backwards: a chunk that is an odd number of `reach` places from its rank comes that much closer.
std::optional<Message> pat_reduce_scatter_step(Schedule const& pat, std::int64_t rank, std::int64_t step,
                                               std::int64_t lane) {
  auto const reach = std::int64_t{1} << step;
  if (lane >= chunks_travelling(pat.ranks, reach)) return std::nullopt;
  return Message{wrap(rank - reach, pat.ranks), wrap(rank - (2 * lane + 1) * reach, pat.ranks), 1, true};
}

/// Everyone receives as many as everyone sends.
std::int64_t pat_arrivals(Schedule const& pat, std::int64_t, std::int64_t step) {
  auto const is_gather = pat.kind == CollectiveKind::kAllGather;
  return chunks_travelling(pat.ranks, std::int64_t{1} << (is_gather ? pat.steps - 1 - step : step));
}

}  // namespace

Schedule pat_schedule(CollectiveKind kind, std::int64_t ranks) {
  TWINSTEP_CHECK(kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter,
                 "PAT does not do this collective");
  auto pat = Schedule{kind, ranks};
  pat.chunks = ranks;
  pat.steps = ceil_log2(ranks);
  pat.lanes = std::max<std::int64_t>(1, ranks / 2);
  pat.successor = kind == CollectiveKind::kAllGather ? pat_gather_step : pat_reduce_scatter_step;
  pat.arrivals = pat_arrivals;
  return pat;
}

namespace {

/// The steps, nearest first.
std::vector<PartnerStep> pat_steps(FoldRequest const& request) {
  auto const ranks = request.placement.ranks;
  auto const chunk = static_cast<double>(request.size.count()) / static_cast<double>(ranks);
  auto steps = std::vector<PartnerStep>{};
  for (auto reach = std::int64_t{1}; reach < ranks; reach *= 2)
    steps.push_back({reach, chunk * static_cast<double>(chunks_travelling(ranks, reach)), false});
  return steps;
}

/// A chunk goes once round the circle of nodes, so of its near steps one crosses into each higher tier.
Duration crossings(FoldRequest const& request) {
  auto const& at = request.placement;
  auto total = Duration{};
  for (auto level = std::size_t{1}; at.leaves(level); ++level)
    if (at.nodes_per_switch_group(level) > 1)
      total += request.topology.hop_latency(level + 1) - request.topology.hop_latency(level);
  return total;
}

}  // namespace

Timing pat_timing(FoldRequest const& request) {
  auto timing = Timing{launch_latency(request), {}};
  for (auto const& step : pat_steps(request)) timing.steps.push_back({1, latency_of(request, step)});
  timing.steps.front().latency += crossings(request);
  if (request.kind == CollectiveKind::kAllGather) std::ranges::reverse(timing.steps);
  return timing;
}

Folded fold_pat(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const steps = pat_steps(request);
  auto folded = Folded{};
  folded.phases = {
      {pat_timing(request).total(), loads_of(request, steps).loads(efficiency_of(request, Traffic::kNeighbours)), {}}};
  auto inside = 0.0;
  for (auto const& step : steps) inside += step.bytes * static_cast<double>(partners_in_nodes(at, step, at.ranks));
  folded.intra = nearest_bytes(inside);
  folded.inter = request.size * (at.ranks - 1) - folded.intra;
  return folded;
}

}  // namespace twinstep::collectives
