#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/collectives/load_sheet.hpp"
#include "sim/collectives/star.hpp"

/// Grouped sends and receives: whoever has something for another rank sends it there, to several at once. All that
/// NCCL does for all_to_all, gather and scatter; for all_gather and reduce_scatter a yardstick of what a ring saves.
namespace twinstep::collectives {
namespace {

/// Peers that a rank serves at once: NCCL puts 8 into one batch of work (NVIDIA/nccl src/include/device.h,
/// NCCL_MAX_DEV_WORK_P2P_PER_BATCH).
constexpr std::int64_t kPeersAtOnce = 8;

std::int64_t rounds(std::int64_t peers) {
  return divide_up(peers, kPeersAtOnce);
}

/// How far away the rank is that everyone serves in the `turn`-th turn of n - 1: nodes times p, and GPUs. Turns go by
/// distance, the same for all, so that no receiver is flooded (NVIDIA/nccl src/init.cc, the p2p schedule). The p - 1
/// peers of a rank's own node are spread evenly among the others: links inside nodes and NICs are busy all the time.
std::int64_t distance(Schedule const& pairwise, std::int64_t turn) {
  auto const p = pairwise.ranks_per_node;
  auto const turns = pairwise.ranks - 1;
  auto const inside = turn * (p - 1) / turns;  // turns before this one that stayed in the node
  auto const is_inside = (turn + 1) * (p - 1) / turns > inside;
  return is_inside ? inside + 1 : p - inside + turn;  // 1 … p - 1 lie inside
}

/// The rank that stands so far after `rank`, in nodes and in GPUs of a node.
std::int64_t after(Schedule const& pairwise, std::int64_t rank, std::int64_t distance) {
  auto const p = pairwise.ranks_per_node;
  return wrap(rank / p + distance / p, pairwise.ranks / p) * p + (rank + distance) % p;
}
std::int64_t before(Schedule const& pairwise, std::int64_t rank, std::int64_t distance) {
  auto const p = pairwise.ranks_per_node;
  return wrap(rank / p - distance / p, pairwise.ranks / p) * p + wrap(rank - distance, p);
}

/// Turns of a step.
std::int64_t turns_in(Schedule const& pairwise, std::int64_t step) {
  return std::min(kPeersAtOnce, pairwise.ranks - 1 - step * kPeersAtOnce);
}

/// The rank that `rank` serves in `step` on `lane`.
std::optional<std::int64_t> peer(Schedule const& pairwise, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  if (lane >= turns_in(pairwise, step)) return std::nullopt;
  return after(pairwise, rank, distance(pairwise, step * kPeersAtOnce + lane));
}

/// Everyone to everyone. Nothing is sent where a split is empty.
std::optional<Message> all_pairs_step(Schedule const& pairwise, std::int64_t rank, std::int64_t step,
                                      std::int64_t lane) {
  auto const to = peer(pairwise, rank, step, lane);
  if (!to || (!pairwise.splits.is_even() && pairwise.splits.count(rank, *to) == 0)) return std::nullopt;
  auto const is_own_chunk = pairwise.kind == CollectiveKind::kAllGather;
  return Message{*to, is_own_chunk ? rank : *to, 1, pairwise.kind == CollectiveKind::kReduceScatter};
}

/// From the root to everyone, a chunk for each.
std::optional<Message> pairwise_scatter_step(Schedule const& pairwise, std::int64_t rank, std::int64_t step,
                                             std::int64_t lane) {
  if (rank != pairwise.root) return std::nullopt;
  auto const to = peer(pairwise, rank, step, lane);
  return to ? std::optional{Message{*to, *to, 1, false}} : std::nullopt;
}

/// From everyone to the root, each in its turn.
std::optional<Message> pairwise_gather_step(Schedule const& pairwise, std::int64_t rank, std::int64_t step,
                                            std::int64_t lane) {
  if (peer(pairwise, pairwise.root, step, lane) != rank) return std::nullopt;
  return Message{pairwise.root, rank, 1, false};
}

std::int64_t all_pairs_arrivals(Schedule const& pairwise, std::int64_t rank, std::int64_t step) {
  auto const turns = turns_in(pairwise, step);
  if (pairwise.splits.is_even()) return turns;
  auto count = std::int64_t{0};
  for (auto lane = std::int64_t{0}; lane < turns; ++lane) {
    auto const from = before(pairwise, rank, distance(pairwise, step * kPeersAtOnce + lane));
    count += pairwise.splits.count(from, rank) > 0 ? 1 : 0;
  }
  return count;
}

std::int64_t scatter_arrivals(Schedule const& pairwise, std::int64_t rank, std::int64_t step) {
  for (auto lane = std::int64_t{0}; lane < turns_in(pairwise, step); ++lane)
    if (peer(pairwise, pairwise.root, step, lane) == rank) return 1;
  return 0;
}

std::int64_t gather_arrivals(Schedule const& pairwise, std::int64_t rank, std::int64_t step) {
  return rank == pairwise.root ? turns_in(pairwise, step) : 0;
}

}  // namespace

Schedule pairwise_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root, std::int64_t ranks_per_node) {
  // Nodes that are not equally full have no common distances; ranks then count as one a node.
  auto pairwise = Schedule{kind, ranks, root, ranks % ranks_per_node == 0 ? ranks_per_node : 1};
  pairwise.chunks = ranks;
  pairwise.steps = rounds(ranks - 1);
  pairwise.lanes = std::clamp<std::int64_t>(ranks - 1, 1, kPeersAtOnce);
  switch (kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      pairwise.successor = all_pairs_step;
      pairwise.arrivals = all_pairs_arrivals;
      break;
    case CollectiveKind::kScatter:
      pairwise.successor = pairwise_scatter_step;
      pairwise.arrivals = scatter_arrivals;
      break;
    case CollectiveKind::kGather:
      pairwise.successor = pairwise_gather_step;
      pairwise.arrivals = gather_arrivals;
      break;
    default: TWINSTEP_CHECK(false, "pairwise messages do not do this collective");
  }
  return pairwise;
}

Schedule uneven_all_to_all(Splits splits, std::int64_t ranks_per_node) {
  auto schedule = pairwise_schedule(CollectiveKind::kAllToAll, splits.ranks(), 0, ranks_per_node);
  schedule.splits = splits;
  return schedule;
}

namespace {

/// What an uneven all_to_all puts on links, and the bytes that leave ranks inside nodes and between them.
struct UnevenLoads {
  LoadSheet sheet;
  Bytes inside;
  Bytes outside;
};

/// Where a rank sits.
struct Seat {
  std::int64_t node = 0;
  std::int64_t gpu = 0;
};

std::vector<Seat> seats(Placement const& at) {
  auto out = std::vector<Seat>{};
  auto node = std::int64_t{0};
  for (auto const held : at.held_by_node()) {
    for (auto i = std::int64_t{0}; i < held; ++i) out.push_back({node, at.gpu(i, held)});
    ++node;
  }
  return out;
}

/// Calls `visit` with every pair of different ranks that share a node or do not, and the bytes from one to the other.
template <class Visit>
void for_each_pair(FoldRequest const& request, std::vector<Seat> const& seat, Visit visit) {
  for (auto from = std::size_t{0}; from < seat.size(); ++from)
    for (auto to = std::size_t{0}; to < seat.size(); ++to)
      if (from != to)
        visit(seat[from], seat[to],
              request.splits.count(static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)));
}

/// The bytes of the busiest switch of a tier, up or down. On a rail-optimised leaf a switch is a rail of its group.
std::int64_t busiest_switch(FoldRequest const& request, std::vector<Seat> const& seat, std::size_t level) {
  auto const& at = request.placement;
  auto const is_rail = at.is_rail(level);
  auto const rails = is_rail ? request.topology.nics() : 1;
  auto const switch_of = [&](Seat const& each) {
    auto const rail = is_rail ? request.topology.nic_of(each.gpu) : 0;
    return static_cast<std::size_t>(at.switch_group_of(level, each.node) * rails + rail);
  };
  auto up = std::vector<std::int64_t>(static_cast<std::size_t>(at.switch_groups(level) * rails));
  auto down = up;
  for_each_pair(request, seat, [&](Seat const& from, Seat const& to, std::int64_t bytes) {
    if (from.node == to.node || switch_of(from) == switch_of(to)) return;
    up[switch_of(from)] += bytes;
    down[switch_of(to)] += bytes;
  });
  return std::max(*std::ranges::max_element(up), *std::ranges::max_element(down));
}

/// Charges every resource what its busiest instance carries under the request's splits: of all nodes' GPUs at a place
/// the busiest port and NIC, in either direction, and of a tier's switches the busiest. Other groups of the
/// communicator count as split alike. Requires splits for as many ranks as there are. Cost O(ranks²).
UnevenLoads uneven_loads(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const seat = seats(at);
  TWINSTEP_CHECK(request.splits.ranks() == at.ranks, "an uneven all_to_all has a split for each of its ranks");
  auto loads = UnevenLoads{LoadSheet{request}, {}, {}};
  auto nodes = std::vector<LoadSheet>(static_cast<std::size_t>(at.nodes), LoadSheet{request});
  auto most_sent = std::int64_t{0};
  for_each_pair(request, seat, [&](Seat const& from, Seat const& to, std::int64_t count) {
    auto const bytes = static_cast<double>(count);
    auto& sender = nodes[static_cast<std::size_t>(from.node)];
    if (from.node == to.node) {
      sender.add_inside(request.topology.within_node(from.gpu, to.gpu), bytes);
      loads.inside += Bytes{count};
      return;
    }
    sender.add_outside(request.topology.out_of_node(from.gpu), bytes);
    nodes[static_cast<std::size_t>(to.node)].add_outside(request.topology.into_node(to.gpu), bytes);
    loads.outside += Bytes{count};
  });
  for (auto const& node : nodes) loads.sheet.take_larger(node);
  for (auto level = std::size_t{1}; at.nodes > 1 && level < request.topology.levels(); ++level) {
    auto const bytes = busiest_switch(request, seat, level);
    if (bytes > 0)
      loads.sheet.add_tier(
          level, static_cast<double>(bytes) * static_cast<double>(at.groups_on_switch(level) * at.interleaved(level)));
  }
  for (auto rank = std::int64_t{0}; rank < at.ranks; ++rank)
    most_sent = std::max(most_sent, request.splits.sent(rank) - request.splits.count(rank, rank));
  loads.sheet.add_memory(static_cast<double>(most_sent));
  return loads;
}

/// As many rounds as the peers need; those that only reach the own node take its step, the others a network step.
/// A library without a choice handles one peer after another.
Duration pairwise_latency(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const is_one_by_one = request.cluster.library.fixed(request.kind) != nullptr;
  auto const turns = [&](std::int64_t peers) { return is_one_by_one ? peers : rounds(peers); };
  auto const all = turns(at.ranks - 1);
  if (at.nodes == 1) return inside_step(request) * all;
  auto const outside = std::min(all, turns(at.ranks - at.ranks_per_node));
  auto level = std::max<std::size_t>(1, at.farthest_meeting());
  if (at.is_rail_optimised) level = std::max(level, std::min<std::size_t>(2, request.topology.levels()));
  return inside_step(request) * (all - outside) + between_step(request, level) * outside;
}

/// Every rank sends `bytes` to every other one.
LoadSheet all_pairs_loads(FoldRequest const& request, double bytes) {
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
  if (at.nodes > 1) add_peer_tiers(sheet, request, bytes, at.ranks_per_node, false);
  sheet.add_memory(bytes * static_cast<double>(at.ranks - 1));
  return sheet;
}

/// The root sends or receives `bytes` for each of the others.
LoadSheet star_loads(FoldRequest const& request, double bytes) {
  auto const direction = request.kind == CollectiveKind::kGather ? Direction::kToRoot : Direction::kFromRoot;
  auto sheet = LoadSheet{request};
  for (auto i = std::int64_t{1}; i < request.placement.ranks_per_node; ++i)
    add_star_inside(sheet, request, i, bytes, direction);
  add_star_outside(sheet, request, bytes, direction);
  sheet.add_memory(bytes * static_cast<double>(request.placement.ranks - 1));
  return sheet;
}

}  // namespace

Timing pairwise_timing(FoldRequest const& request) {
  return {launch_latency(request), spread(pairwise_latency(request), rounds(request.placement.ranks - 1))};
}

/// A launch, a step for each round of 8 peers, and the slower of S (n - 1)/n over a port and S (1 - 1/N) over a rank's
/// share of its node's NICs. A sweep of all_to_all over 8 GPUs with one process each is flat at 40-44 us below 2 MiB:
/// that is the host's time for its sends and receives (LauncherCost::per_peer), not the device's.
Folded fold_pairwise(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const latency = pairwise_timing(request).total();
  auto const efficiency = efficiency_of(request, Traffic::kPeers);
  auto folded = Folded{};
  if (!request.splits.is_even()) {
    auto const uneven = uneven_loads(request);
    folded.phases = {{latency, uneven.sheet.loads(efficiency), {}}};
    folded.intra = uneven.inside;
    folded.inter = uneven.outside;
    return folded;
  }
  auto const chunk = static_cast<double>(request.size.count()) / static_cast<double>(at.ranks);
  auto const is_star = has_root(request.kind);
  auto const pairs = is_star ? at.ranks - 1 : at.ranks * (at.ranks - 1);
  auto const pairs_inside = is_star ? at.ranks_per_node - 1 : at.pairs_in_nodes();
  auto const sheet = is_star ? star_loads(request, chunk) : all_pairs_loads(request, chunk);
  folded.phases = {{latency, sheet.loads(efficiency), {}}};
  folded.intra = nearest_bytes(chunk * static_cast<double>(pairs_inside));
  folded.inter = nearest_bytes(chunk * static_cast<double>(pairs - pairs_inside));
  return folded;
}

}  // namespace twinstep::collectives
