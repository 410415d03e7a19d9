#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/load_sheet.hpp"

/// Direct messages: whoever has something for another rank sends it there. Natural for all_to_all, gather and scatter;
/// for the others a yardstick of how much a ring or a tree saves. A rank keeps several messages in flight.
namespace twinstep::collectives {
namespace {

using program::CollectiveKind;

/// Peers that a rank serves at once: NCCL puts 8 into one batch of work (nccl.md section 7,
/// NCCL_MAX_DEV_WORK_P2P_PER_BATCH).
constexpr std::int64_t kPeersAtOnce = 8;

std::int64_t rounds(std::int64_t peers) {
  return divide_up(peers, kPeersAtOnce);
}

/// The peer, counted from the sender or the root, that is served in `step` on `lane`; may lie beyond the last.
std::int64_t distance(std::int64_t step, std::int64_t lane) {
  return step * kPeersAtOnce + lane + 1;
}

/// Everyone to everyone, beginning with its neighbour, so that no receiver is flooded.
std::optional<Message> all_pairs_step(Schedule const& direct, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const ahead = distance(step, lane);
  if (ahead >= direct.ranks) return std::nullopt;
  auto const to = wrap(rank + ahead, direct.ranks);
  auto const is_own_chunk = direct.kind == CollectiveKind::kAllGather;
  return Message{to, is_own_chunk ? rank : to, 1, direct.kind == CollectiveKind::kReduceScatter};
}

/// From the root to everyone: a chunk for each, or everything.
std::optional<Message> from_root_step(Schedule const& direct, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const ahead = distance(step, lane);
  if (rank != direct.root || ahead >= direct.ranks) return std::nullopt;
  auto const to = wrap(rank + ahead, direct.ranks);
  if (direct.kind == CollectiveKind::kScatter) return Message{to, to, 1, false};
  return Message{to, 0, direct.chunks, false};
}

/// From everyone to the root, each in its turn: its chunk, or everything to be added up.
std::optional<Message> to_root_step(Schedule const& direct, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const place = wrap(rank - direct.root, direct.ranks);
  if (place == 0 || place != distance(step, lane)) return std::nullopt;
  if (direct.kind == CollectiveKind::kGather) return Message{direct.root, rank, 1, false};
  return Message{direct.root, 0, direct.chunks, true};
}

/// The naive way: everything to the root, the sum back to everyone.
std::optional<Message> all_reduce_step(Schedule const& direct, std::int64_t rank, std::int64_t step,
                                       std::int64_t lane) {
  auto const half = direct.steps / 2;
  return step < half ? to_root_step(direct, rank, step, lane) : from_root_step(direct, rank, step - half, lane);
}

}  // namespace

Schedule pairwise_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root) {
  auto direct = Schedule{kind, ranks, root};
  direct.chunks = ranks;
  direct.steps = rounds(ranks - 1);
  direct.lanes = std::min(kPeersAtOnce, std::max<std::int64_t>(1, ranks - 1));
  switch (kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: direct.successor = all_pairs_step; break;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter: direct.successor = from_root_step; break;
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather: direct.successor = to_root_step; break;
    case CollectiveKind::kAllReduce:
      direct.steps *= 2;
      direct.successor = all_reduce_step;
      break;
  }
  return direct;
}

namespace {

/// As many rounds as the peers need; those that reach other nodes take a network step.
Duration pairwise_latency(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const all = rounds(at.ranks - 1);
  if (at.nodes == 1) return inside_step(request) * all;
  auto const outside = std::min(all, rounds(at.ranks - at.ranks_per_node));
  auto level = std::max<std::size_t>(1, at.farthest_meeting());
  if (at.is_rail_optimised) level = std::max(level, std::min<std::size_t>(2, request.topology.levels()));
  return inside_step(request) * (all - outside) + between_step(request, level) * outside;
}

/// Bytes through uplinks. Of what a rank sends to other nodes, the part for nodes of its own switch group turns round
/// below them; on a rail-optimised leaf only if it goes to the same rail. `senders` is how many ranks of a node send,
/// `sending_nodes` how many nodes of a switch group; `bytes` goes to each peer.
void add_tiers(LoadSheet& sheet, FoldRequest const& request, double bytes, std::int64_t senders, bool is_root_only) {
  auto const& at = request.placement;
  auto const p = static_cast<double>(at.ranks_per_node);
  for (auto level = std::size_t{1}; level < request.topology.levels(); ++level) {
    auto const is_rail = level == 1 && at.is_rail_optimised;
    if (!is_rail && !at.leaves(level)) break;
    auto const nodes = static_cast<double>(at.nodes_per_switch_group(level));
    auto const rails = is_rail ? static_cast<double>(at.nics(at.ranks_per_node)) : 1.0;
    auto const leaving = static_cast<double>(at.ranks) - p - (nodes - 1) * p / rails;
    auto const sending_nodes = is_root_only ? 1.0 : nodes;
    auto const groups = is_rail
                            ? static_cast<double>(at.groups_among(request.cluster.node.gpus / request.topology.nics()))
                            : static_cast<double>(at.groups_per_node());
    auto const senders_per_uplink = is_root_only ? 1.0 : static_cast<double>(senders) / rails;
    sheet.add_tier(level, bytes * leaving * senders_per_uplink * sending_nodes * groups *
                              static_cast<double>(at.interleaved(level)));
  }
}

/// Every rank sends `bytes` to every other one.
Phase all_pairs_phase(FoldRequest const& request, double bytes) {
  auto const& at = request.placement;
  auto sheet = LoadSheet{request};
  for (auto const held : at.ranks_held()) {
    auto node = LoadSheet{request};
    auto const to_others = bytes * static_cast<double>(at.ranks - held);
    for (auto i = std::int64_t{0}; i < held; ++i) {
      auto const gpu = at.gpu(i, held);
      for (auto j = std::int64_t{0}; j < held; ++j)
        if (i != j) node.add_inside(request.topology.within_node(gpu, at.gpu(j, held)), bytes);
      if (at.nodes == 1) continue;
      node.add_outside(request.topology.out_of_node(gpu), to_others);
      node.add_outside(request.topology.into_node(gpu), to_others);
    }
    sheet.take_larger(node);
  }
  if (at.nodes > 1) add_tiers(sheet, request, bytes, at.ranks_per_node, false);
  sheet.add_memory(bytes * static_cast<double>(at.ranks - 1));
  return {pairwise_latency(request), sheet.loads(efficiency_of(request, Traffic::kPeers)), {}};
}

/// `bytes` between the root and each of the others. The root's links are the busiest, and only they are charged.
Phase star_phase(FoldRequest const& request, double bytes, bool is_towards_root) {
  auto const& at = request.placement;
  auto const held = at.ranks_per_node;
  auto const root = at.gpu(0, held);
  auto sheet = LoadSheet{request};
  for (auto i = std::int64_t{1}; i < held; ++i) {
    auto const peer = at.gpu(i, held);
    sheet.add_inside(
        is_towards_root ? request.topology.within_node(peer, root) : request.topology.within_node(root, peer), bytes);
  }
  if (at.nodes > 1) {
    auto const others = bytes * static_cast<double>(at.ranks - held);
    sheet.add_outside(is_towards_root ? request.topology.into_node(root) : request.topology.out_of_node(root), others);
    add_tiers(sheet, request, bytes, 1, true);
  }
  sheet.add_memory(bytes * static_cast<double>(at.ranks - 1));
  return {pairwise_latency(request), sheet.loads(efficiency_of(request, Traffic::kPeers)), {}};
}

}  // namespace

Timing pairwise_timing(FoldRequest const& request) {
  auto const steps = rounds(request.placement.ranks - 1);
  auto timing = Timing{launch_latency(request), spread(pairwise_latency(request), steps)};
  if (request.kind == CollectiveKind::kAllReduce) timing.steps.push_back({steps, timing.steps.front().latency});
  return timing;
}

Folded fold_pairwise(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const size = static_cast<double>(request.size.count());
  auto const chunk = size / static_cast<double>(at.ranks);
  auto folded = Folded{};
  auto pairs_inside = at.ranks_per_node - 1;  // ordered pairs of ranks that exchange a message
  auto pairs = at.ranks - 1;
  auto bytes = size;
  switch (request.kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      bytes = chunk;
      pairs *= at.ranks;
      pairs_inside = at.pairs_in_nodes();
      folded.phases = {all_pairs_phase(request, chunk)};
      break;
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      bytes = chunk;
      folded.phases = {star_phase(request, chunk, request.kind == CollectiveKind::kGather)};
      break;
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
      folded.phases = {star_phase(request, size, request.kind == CollectiveKind::kReduce)};
      break;
    case CollectiveKind::kAllReduce:
      pairs *= 2;
      pairs_inside *= 2;
      folded.phases = {star_phase(request, size, true), star_phase(request, size, false)};
      break;
  }
  folded.phases.front().latency += launch_latency(request);
  folded.intra = to_bytes(std::floor(bytes * static_cast<double>(pairs_inside) + 0.5));
  folded.inter = to_bytes(std::floor(bytes * static_cast<double>(pairs - pairs_inside) + 0.5));
  return folded;
}

}  // namespace twinstep::collectives
