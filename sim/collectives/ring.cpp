#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/load_sheet.hpp"

/// The ring. Every rank sends to the next one only, so a step keeps every link of the ring busy with one chunk.
/// Bytes and steps: nccl.md section 3.1; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.
namespace twinstep::collectives {
namespace {

using program::CollectiveKind;

std::int64_t next(Schedule const& ring, std::int64_t rank) {
  return rank + 1 == ring.ranks ? 0 : rank + 1;
}

/// In step s rank r passes on the chunk that it has just received: chunk r - s. After n - 1 steps everyone has seen
/// every chunk.
std::optional<Message> gather_step(Schedule const& ring, std::int64_t rank, std::int64_t step, std::int64_t) {
  return Message{next(ring, rank), wrap(rank - step, ring.ranks), 1, false};
}

/// Rank r starts with chunk r - 1 and adds to each chunk that comes by; the last one to come by is its own.
std::optional<Message> reduce_scatter_step(Schedule const& ring, std::int64_t rank, std::int64_t step, std::int64_t) {
  return Message{next(ring, rank), wrap(rank - 1 - step, ring.ranks), 1, true};
}

/// The first n - 1 steps reduce: rank r starts with chunk r, and ends up owning chunk r + 1 complete. The second
/// n - 1 steps pass the complete chunks on.
std::optional<Message> all_reduce_step(Schedule const& ring, std::int64_t rank, std::int64_t step, std::int64_t) {
  auto const half = ring.ranks - 1;
  if (step < half) return Message{next(ring, rank), wrap(rank - step, ring.ranks), 1, true};
  return Message{next(ring, rank), wrap(rank + 1 - (step - half), ring.ranks), 1, false};
}

/// A pipeline from the root on: the rank `place` steps after it passes chunk c on in step place + c.
std::optional<Message> broadcast_step(Schedule const& ring, std::int64_t rank, std::int64_t step, std::int64_t) {
  auto const place = wrap(rank - ring.root, ring.ranks);
  auto const chunk = step - place;
  if (place == ring.ranks - 1 || chunk < 0 || chunk >= ring.chunks) return std::nullopt;
  return Message{next(ring, rank), chunk, 1, false};
}

/// A pipeline from the rank after the root round to the root.
std::optional<Message> reduce_step(Schedule const& ring, std::int64_t rank, std::int64_t step, std::int64_t) {
  auto const place = wrap(rank - ring.root - 1, ring.ranks);
  auto const chunk = step - place;
  if (place == ring.ranks - 1 || chunk < 0 || chunk >= ring.chunks) return std::nullopt;
  return Message{next(ring, rank), chunk, 1, true};
}

}  // namespace

Schedule ring_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root) {
  auto ring = Schedule{kind, ranks, root};
  ring.chunks = ranks;
  ring.steps = ranks - 1;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      ring.steps = 2 * (ranks - 1);
      ring.successor = all_reduce_step;
      break;
    case CollectiveKind::kAllGather: ring.successor = gather_step; break;
    case CollectiveKind::kReduceScatter: ring.successor = reduce_scatter_step; break;
    case CollectiveKind::kBroadcast:
      ring.steps = 2 * (ranks - 1);  // n - 1 hops, and n - 1 chunks behind the first
      ring.successor = broadcast_step;
      break;
    case CollectiveKind::kReduce:
      ring.steps = 2 * (ranks - 1);
      ring.successor = reduce_step;
      break;
    default: TWINSTEP_CHECK(false, "a ring does not do this collective");
  }
  return ring;
}

namespace {

/// What one collective looks like to the ring.
struct RingWork {
  double wire = 0;          ///< W: bytes over each link of the ring
  std::int64_t passes = 1;  ///< times that data goes round
  bool is_closed = true;    ///< the last rank also sends to the first
};

RingWork ring_work(FoldRequest const& request) {
  auto const n = static_cast<double>(request.placement.ranks);
  auto const size = static_cast<double>(request.size.count());
  switch (request.kind) {
    case CollectiveKind::kAllReduce: return {2 * size * (n - 1) / n, 2, true};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: return {size * (n - 1) / n, 1, true};
    default: return {size, 1, false};
  }
}

/// n - 1 steps a pass, N - 1 of them between nodes (nccl.md section 4.4). A pass crosses into the next tier once for
/// each switch group below it.
Duration ring_latency(FoldRequest const& request, RingWork const& work) {
  auto const& at = request.placement;
  auto const outside = at.nodes - 1;
  auto const inside = at.ranks - 1 - outside;
  auto pass = inside_step(request) * inside;
  if (outside > 0) {
    pass += between_step(request, 1) * outside;
    for (auto level = std::size_t{1}; at.leaves(level); ++level) {
      auto const higher = request.topology.hop_latency(level + 1) - request.topology.hop_latency(level);
      pass += higher * std::min(outside, at.switch_groups(level));
    }
  }
  return pass * work.passes;
}

/// The busiest links of a node that holds `held` ranks.
///
/// Across nodes there is a lane for each of its p GPUs. A lane enters the node by one GPU's NIC, visits all GPUs and
/// leaves by the last one's NIC; lane i starts at GPU i. So the link from one GPU to the next carries all lanes but
/// one, W (p - 1) / p, and each GPU moves W / p through its NIC in each direction (collective-cost.md section 2,
/// "p/(p-1)"). Lanes stay on their rail because every second node walks them the other way round (nccl.md 5.2).
void add_node(LoadSheet& sheet, FoldRequest const& request, RingWork const& work, std::int64_t held) {
  auto const& at = request.placement;
  auto const lanes = static_cast<double>(held);
  auto const is_alone = at.nodes == 1;
  for (auto i = std::int64_t{0}; i < held; ++i) {
    auto const gpu = at.gpu(i, held);
    if (held > 1) {
      auto const carried = is_alone ? work.wire : work.wire * (lanes - 1) / lanes;
      sheet.add_inside(request.topology.within_node(gpu, at.gpu((i + 1) % held, held)), carried);
    }
    if (is_alone) continue;
    sheet.add_outside(request.topology.out_of_node(gpu), work.wire / lanes);
    sheet.add_outside(request.topology.into_node(gpu), work.wire / lanes);
  }
}

/// A lane leaves each switch group once and enters it once.
void add_tiers(LoadSheet& sheet, FoldRequest const& request, RingWork const& work) {
  auto const& at = request.placement;
  for (auto level = std::size_t{1}; at.leaves(level); ++level) {
    auto share = static_cast<double>(at.groups_per_node());
    if (level == 1 && at.is_rail_optimised)  // one NIC's part of it
      share = static_cast<double>(at.groups_among(request.cluster.node.gpus / request.topology.nics())) /
              static_cast<double>(at.nics(at.ranks_per_node));
    sheet.add_tier(level, work.wire * share * static_cast<double>(at.interleaved(level)));
  }
}

}  // namespace

/// A chunk passes every link of the ring once in a pass, so each step waits the mean of their latencies.
Timing ring_timing(FoldRequest const& request) {
  auto const work = ring_work(request);
  auto const passes = work.is_closed ? work.passes : 1;
  return {launch_latency(request), spread(ring_latency(request, work), passes * (request.placement.ranks - 1))};
}

Folded fold_ring(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const work = ring_work(request);
  auto sheet = LoadSheet{request};
  for (auto const held : at.ranks_held()) {
    auto node = LoadSheet{request};
    add_node(node, request, work, held);
    sheet.take_larger(node);
  }
  add_tiers(sheet, request, work);
  sheet.add_memory(work.wire);

  auto const links = work.is_closed ? at.ranks : at.ranks - 1;
  auto const between = at.nodes == 1 ? 0 : (work.is_closed ? at.nodes : at.nodes - 1);
  auto folded = Folded{};
  folded.phases = {{ring_timing(request).total(), sheet.loads(efficiency_of(request, Traffic::kNeighbours)),
                    least_time(request, work.wire)}};
  auto const total = to_bytes(std::floor(work.wire * static_cast<double>(links) + 0.5));
  folded.inter = to_bytes(std::floor(work.wire * static_cast<double>(between) + 0.5));
  folded.intra = total - folded.inter;
  return folded;
}

}  // namespace twinstep::collectives
