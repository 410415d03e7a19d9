#include "sim/collectives/folded.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/load_sheet.hpp"

namespace twinstep::collectives {
namespace {

using program::CollectiveKind;

Folded fold_as(Algorithm algorithm, FoldRequest const& request) {
  switch (algorithm) {
    case Algorithm::kRing: return fold_ring(request);
    case Algorithm::kTree: return fold_tree(request);
    case Algorithm::kDirect: return fold_direct(request);
  }
  return {};
}

Algorithm usual_algorithm(CollectiveKind kind) {
  return is_available(kind, Algorithm::kRing) ? Algorithm::kRing : Algorithm::kDirect;
}

}  // namespace

Duration time_alone(Folded const& folded, topology::Topology const& topology) {
  auto total = Duration{};
  for (auto const& phase : folded.phases) {
    auto slowest = Duration{};
    for (auto const& load : phase.loads)
      slowest = std::max(slowest, transfer_time(load.bytes, topology.resource(load.resource).bandwidth));
    total += phase.latency + slowest;
  }
  return total;
}

Folded fold(CollectiveKind kind, Bytes size, Layout const& layout, hardware::Cluster const& cluster,
            topology::Topology const& topology, std::optional<Algorithm> forced) {
  if (forced) require_available(kind, *forced);
  auto const usual = forced.value_or(usual_algorithm(kind));
  if (layout.ranks <= 1 || size.count() <= 0) return {usual, {}, {}, {}};
  auto const placement = Placement{layout, cluster, topology};
  auto const request = FoldRequest{kind, size, placement, cluster, topology};
  auto folded = fold_as(usual, request);
  if (forced || !is_available(kind, Algorithm::kTree)) return folded;
  auto tree = fold_tree(request);
  return time_alone(tree, topology) < time_alone(folded, topology) ? tree : folded;
}

Folded fold_message(Bytes size, RankId from, RankId to, hardware::Cluster const& cluster,
                    topology::Topology const& topology) {
  auto folded = Folded{Algorithm::kDirect, {}, {}, {}};
  if (from == to || size.count() <= 0) return folded;
  auto const gpus = cluster.node.gpus;
  auto const sender = static_cast<std::int64_t>(from.index());
  auto const receiver = static_cast<std::int64_t>(to.index());
  // Only the two ranks take part: nothing else shares their links.
  auto const pair = Layout{2, {{2, 1}}, sender / gpus, 1, sender % gpus, 1, 1};
  auto const placement = Placement{pair, cluster, topology};
  auto sheet = LoadSheet{placement, cluster, topology};
  auto const bytes = static_cast<double>(size.count());
  sheet.add_memory(bytes);
  auto latency = cluster.collectives.launch.value;

  auto level = topology.meeting_level(sender / gpus, receiver / gpus);
  if (level == 0) {
    sheet.add_inside(topology.within_node(sender % gpus, receiver % gpus), bytes);
    latency += cluster.node.intra_cost.step_latency.value;
    folded.intra = size;
  } else {
    // On a rail-optimised fabric different NICs hang on different leaves and meet one tier higher.
    auto const changes_rail =
        cluster.fabric.is_rail_optimised && topology.nic_of(sender % gpus) != topology.nic_of(receiver % gpus);
    if (changes_rail) level = std::max(level, std::min<std::size_t>(2, topology.levels()));
    sheet.add_outside(topology.out_of_node(sender % gpus), bytes);
    sheet.add_outside(topology.into_node(receiver % gpus), bytes);
    for (auto tier = std::size_t{1}; tier < level; ++tier) sheet.add_tier(tier, bytes);
    latency += cluster.fabric.cost.step_latency.value + topology.hop_latency(level);
    folded.inter = size;
  }
  folded.phases.push_back({latency, sheet.loads()});
  return folded;
}

}  // namespace twinstep::collectives
