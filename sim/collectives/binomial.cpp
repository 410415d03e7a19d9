#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/load_sheet.hpp"

/// The binomial tree: the number of ranks that have the data doubles with each step (Thakur, Rabenseifner, Gropp,
/// IJHPCA 19(1), 2005).
namespace twinstep::collectives {
namespace {

using program::CollectiveKind;

/// In step s the 2^s ranks from the root on have everything, and each sends it 2^s places further.
std::optional<Message> broadcast_step(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t) {
  auto const place = wrap(rank - tree.root, tree.ranks);
  auto const reach = std::int64_t{1} << step;
  if (place >= reach || place + reach >= tree.ranks) return std::nullopt;
  return Message{wrap(rank + reach, tree.ranks), 0, 1, false};
}

/// The same backwards, adding.
std::optional<Message> reduce_step(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t) {
  auto const place = wrap(rank - tree.root, tree.ranks);
  auto const reach = std::int64_t{1} << (tree.steps - 1 - step);
  if (place < reach || place >= 2 * reach) return std::nullopt;
  return Message{wrap(rank - reach, tree.ranks), 0, 1, true};
}

}  // namespace

Schedule binomial_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root) {
  TWINSTEP_CHECK(kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce,
                 "a binomial tree does not do this collective");
  auto tree = Schedule{kind, ranks, root};
  tree.steps = ceil_log2(ranks);
  tree.successor = kind == CollectiveKind::kBroadcast ? broadcast_step : reduce_step;
  return tree;
}

namespace {

/// From a leaf of the tree of nodes to the root: floor(log2 N) network steps (nccl.md section 4.4), the j-th of
/// them between nodes that are 2^j apart.
Duration climb(FoldRequest const& request, std::int64_t steps) {
  auto total = Duration{};
  for (auto j = std::int64_t{0}; j < steps; ++j)
    total += between_step(request, request.placement.meeting(std::int64_t{1} << j));
  return total;
}

/// Bytes through the uplinks of the busiest switch group: the groups of a tier are joined as nodes are, so theirs is
/// `share` of their number. On a rail-optimised leaf each NIC's part takes its own rail.
template <class Share>
void add_tiers(LoadSheet& sheet, FoldRequest const& request, double size, Share share) {
  auto const& at = request.placement;
  for (auto level = std::size_t{1}; at.leaves(level); ++level) {
    auto groups = static_cast<double>(at.groups_per_node());
    if (level == 1 && at.is_rail_optimised)
      groups = static_cast<double>(at.groups_among(request.cluster.node.gpus / request.topology.nics())) /
               static_cast<double>(at.nics(at.ranks_per_node));
    sheet.add_tier(level, share(at.switch_groups(level)) * size * groups * static_cast<double>(at.interleaved(level)));
  }
}

/// The binomial tree inside a node: in step s GPU i reaches GPU i + 2^s.
Phase inside_phase(FoldRequest const& request, double size, bool is_towards_root) {
  auto const& at = request.placement;
  auto const held = at.ranks_per_node;
  auto sheet = LoadSheet{request};
  for (auto reach = std::int64_t{1}; reach < held; reach *= 2) {
    for (auto i = std::int64_t{0}; i < reach && i + reach < held; ++i) {
      auto const near = at.gpu(i, held);
      auto const far = at.gpu(i + reach, held);
      sheet.add_inside(
          is_towards_root ? request.topology.within_node(far, near) : request.topology.within_node(near, far), size);
    }
  }
  auto const steps = ceil_log2(held);
  sheet.add_memory(size * static_cast<double>(is_towards_root ? 1 : steps));
  return {inside_step(request) * steps, sheet.loads(efficiency_of(request, Traffic::kNeighbours)), {}};
}

/// The binomial tree over nodes: the root's node sends, or receives, in every step.
Phase between_phase(FoldRequest const& request, double size, bool is_towards_root) {
  auto const& at = request.placement;
  auto const steps = ceil_log2(at.nodes);
  auto const gpu = at.gpu(0, at.ranks_per_node);
  auto sheet = LoadSheet{request};
  auto const busy = size * static_cast<double>(steps);
  sheet.add_outside(request.topology.out_of_node(gpu), is_towards_root ? size : busy);
  sheet.add_outside(request.topology.into_node(gpu), is_towards_root ? busy : size);
  add_tiers(sheet, request, size, [](std::int64_t groups) { return static_cast<double>(ceil_log2(groups)); });
  sheet.add_memory(is_towards_root ? size : busy);
  return {climb(request, steps), sheet.loads(efficiency_of(request, Traffic::kNeighbours)), {}};
}

}  // namespace

Timing binomial_timing(FoldRequest const& request) {
  auto const& at = request.placement;
  auto timing = Timing{launch_latency(request), {}};
  if (at.nodes > 1) timing.steps.push_back({1, climb(request, ceil_log2(at.nodes))});
  if (at.ranks_per_node > 1) timing.steps.push_back({ceil_log2(at.ranks_per_node), inside_step(request)});
  if (request.kind == CollectiveKind::kReduce) std::reverse(timing.steps.begin(), timing.steps.end());
  return timing;
}

/// From the root's GPU to one GPU of every node, then inside the nodes; reduce the other way round.
Folded fold_binomial(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const is_towards_root = request.kind == CollectiveKind::kReduce;
  auto const size = static_cast<double>(request.size.count());
  auto folded = Folded{};
  if (at.nodes > 1) folded.phases.push_back(between_phase(request, size, is_towards_root));
  if (at.ranks_per_node > 1) folded.phases.push_back(inside_phase(request, size, is_towards_root));
  if (is_towards_root) std::reverse(folded.phases.begin(), folded.phases.end());
  folded.phases.front().latency += launch_latency(request);
  folded.intra = request.size * (at.ranks - at.nodes);
  folded.inter = request.size * (at.nodes - 1);
  return folded;
}

}  // namespace twinstep::collectives
