#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/load_sheet.hpp"

/// The ring. Every rank sends to the next one only, so a step keeps every link of the ring busy with one chunk.
/// Bytes and steps: NVIDIA/nccl-tests doc/PERFORMANCE.md; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.
namespace twinstep::collectives {
namespace {

/// Where a lane of the ring passes. A ring that lies in one node, or has one rank on each, has one lane: the ranks in
/// their order. Over several nodes each GPU begins a lane: lane i enters a node at GPU i, visits all of them and leaves
/// by the GPU before. Every second node walks the other way round, so that a lane enters a node on the rail by which it
/// left the one before (NVIDIA/nccl src/graph/connect.cc, connectRings; only a ring of an odd number of nodes changes
/// rails, once).
struct Lane {
  Schedule const& ring;
  std::int64_t index = 0;

  [[nodiscard]] bool is_in_order() const { return ring.ranks_per_node == 1 || ring.ranks_per_node == ring.ranks; }

  /// The rank at place `place` of the lane.
  [[nodiscard]] std::int64_t rank_at(std::int64_t place) const {
    if (is_in_order()) return place;
    auto const node = place / ring.ranks_per_node;
    auto const gpus = gpus_of(node);
    auto const behind = place - node * ring.ranks_per_node;  // the GPU by which the lane enters
    auto const entry = index % gpus;
    auto const gpu = node % 2 == 0 ? entry + behind : entry - 1 - behind;
    return node * ring.ranks_per_node + wrap(gpu, gpus);
  }
  [[nodiscard]] std::int64_t place_of(std::int64_t rank) const {
    if (is_in_order()) return rank;
    auto const node = rank / ring.ranks_per_node;
    auto const gpus = gpus_of(node);
    auto const gpu = rank - node * ring.ranks_per_node;
    auto const entry = index % gpus;
    return node * ring.ranks_per_node + wrap(node % 2 == 0 ? gpu - entry : entry - 1 - gpu, gpus);
  }
  [[nodiscard]] std::int64_t next(std::int64_t place) const { return rank_at(place + 1 == ring.ranks ? 0 : place + 1); }

  /// The lane's part of the chunk of the rank at `place`, which may lie once round the ring.
  [[nodiscard]] std::int64_t chunk_at(std::int64_t place) const {
    if (place < 0) place += ring.ranks;
    if (place >= ring.ranks) place -= ring.ranks;
    return rank_at(place) * ring.lanes + index;
  }

 private:
  [[nodiscard]] std::int64_t gpus_of(std::int64_t node) const {
    return std::min(ring.ranks_per_node, ring.ranks - node * ring.ranks_per_node);
  }
};

/// In step s the rank at place q passes on the chunk that it has just received: that of place q - s. After n - 1 steps
/// everyone has seen every chunk.
std::optional<Message> ring_gather_step(Schedule const& ring, std::int64_t rank, std::int64_t step,
                                        std::int64_t index) {
  auto const lane = Lane{ring, index};
  auto const place = lane.place_of(rank);
  return Message{lane.next(place), lane.chunk_at(place - step), 1, false};
}

/// Place q starts with chunk q - 1 and adds to each chunk that comes by; the last one to come by is its own.
std::optional<Message> ring_reduce_scatter_step(Schedule const& ring, std::int64_t rank, std::int64_t step,
                                                std::int64_t index) {
  auto const lane = Lane{ring, index};
  auto const place = lane.place_of(rank);
  return Message{lane.next(place), lane.chunk_at(place - 1 - step), 1, true};
}

/// The first n - 1 steps reduce: place q starts with chunk q, and ends up owning chunk q + 1 complete. The second
/// n - 1 steps pass the complete chunks on.
std::optional<Message> ring_all_reduce_step(Schedule const& ring, std::int64_t rank, std::int64_t step,
                                            std::int64_t index) {
  auto const lane = Lane{ring, index};
  auto const place = lane.place_of(rank);
  auto const half = ring.ranks - 1;
  if (step < half) return Message{lane.next(place), lane.chunk_at(place - step), 1, true};
  return Message{lane.next(place), lane.chunk_at(place + 1 - (step - half)), 1, false};
}

/// A pipeline along each lane from `first` on, which ends before it comes round: the rank k places after it passes
/// piece c on in step k + c.
std::optional<Message> chain_step(Schedule const& ring, Lane lane, std::int64_t first, std::int64_t rank,
                                  std::int64_t step) {
  auto const place = lane.place_of(rank);
  auto const behind = wrap(place - first, ring.ranks);
  auto const pieces = ring.chunks / ring.lanes;
  auto const piece = step - behind;
  if (behind == ring.ranks - 1 || piece < 0 || piece >= pieces) return std::nullopt;
  return Message{lane.next(place), lane.index * pieces + piece, 1, ring.kind == CollectiveKind::kReduce};
}

std::optional<Message> ring_broadcast_step(Schedule const& ring, std::int64_t rank, std::int64_t step,
                                           std::int64_t index) {
  auto const lane = Lane{ring, index};
  return chain_step(ring, lane, lane.place_of(ring.root), rank, step);
}

/// From the rank after the root round to the root.
std::optional<Message> ring_reduce_step(Schedule const& ring, std::int64_t rank, std::int64_t step,
                                        std::int64_t index) {
  auto const lane = Lane{ring, index};
  return chain_step(ring, lane, lane.place_of(ring.root) + 1, rank, step);
}

bool is_pipeline(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

/// Pieces of a broadcast's or a reduction's pipeline: so many that filling it takes 3 % of the time, as NCCL cuts finer
/// than any message that matters.
std::int64_t pieces_of_pipeline(std::int64_t ranks) {
  constexpr std::int64_t kPiecesPerHop = 32;
  return std::max<std::int64_t>(1, kPiecesPerHop * (ranks - 2));
}

/// Everyone sends on every lane, or on those of a pipeline that reach it just now.
std::int64_t ring_arrivals(Schedule const& ring, std::int64_t rank, std::int64_t step) {
  if (!is_pipeline(ring.kind)) return ring.lanes;
  auto count = std::int64_t{0};
  for (auto index = std::int64_t{0}; index < ring.lanes; ++index) {
    auto const lane = Lane{ring, index};
    auto const before = lane.rank_at(wrap(lane.place_of(rank) - 1, ring.ranks));
    count += ring.message(before, step, index) ? 1 : 0;
  }
  return count;
}

}  // namespace

Schedule ring_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root, std::int64_t ranks_per_node) {
  auto ring = Schedule{kind, ranks, root, std::min(ranks_per_node, ranks)};
  // As many lanes as the node with the fewest ranks can begin: the last one, if nodes are filled in order.
  auto const on_last = ranks % ring.ranks_per_node == 0 ? ring.ranks_per_node : ranks % ring.ranks_per_node;
  ring.lanes = ring.ranks_per_node == ranks ? 1 : on_last;
  ring.chunks = ring.lanes * ranks;
  ring.steps = ranks - 1;
  ring.arrivals = ring_arrivals;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      ring.steps = 2 * (ranks - 1);
      ring.successor = ring_all_reduce_step;
      break;
    case CollectiveKind::kAllGather: ring.successor = ring_gather_step; break;
    case CollectiveKind::kReduceScatter: ring.successor = ring_reduce_scatter_step; break;
    case CollectiveKind::kBroadcast: ring.successor = ring_broadcast_step; break;
    case CollectiveKind::kReduce: ring.successor = ring_reduce_step; break;
    default: TWINSTEP_CHECK(false, "a ring does not do this collective");
  }
  if (is_pipeline(kind) && ranks > 1) {
    ring.chunks = ring.lanes * pieces_of_pipeline(ranks);
    ring.steps += pieces_of_pipeline(ranks) - 1;  // n - 1 hops, and the pieces behind the first
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

/// n - 1 steps a pass, N - 1 of them between nodes (NVIDIA/nccl src/graph/tuning.cc). A pass crosses into the next tier
/// once for each switch group below it.
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
/// Across nodes there is a lane for each of its p GPUs, or of the node's that has the fewest. A lane enters the node by
/// one GPU's NIC, visits all GPUs and leaves by the last one's NIC; lane i starts at GPU i. So the link from one GPU to
/// the next carries all lanes but one, W (p - 1) / p, and each GPU moves W / p through its NIC in each direction. Lanes
/// stay on their rail because every second node walks them the other way round (NVIDIA/nccl src/graph/connect.cc,
/// connectRings).
void add_ring_node(LoadSheet& sheet, FoldRequest const& request, RingWork const& work, std::int64_t held) {
  auto const& at = request.placement;
  auto const fewest = std::ranges::min(at.ranks_held());
  auto const lanes = static_cast<double>(fewest);
  auto const is_alone = at.nodes == 1;
  for (auto i = std::int64_t{0}; i < held; ++i) {
    auto const gpu = at.gpu(i, held);
    if (held > 1) {
      auto const carried = is_alone || held > fewest ? work.wire : work.wire * (lanes - 1) / lanes;
      sheet.add_neighbours(i, (i + 1) % held, held, carried);
    }
    if (is_alone || i >= fewest) continue;
    sheet.add_outside(request.topology.out_of_node(gpu), work.wire / lanes);
    sheet.add_outside(request.topology.into_node(gpu), work.wire / lanes);
  }
}

}  // namespace

/// A chunk passes every link of the ring once in a pass, so each step waits the mean of their latencies. The pieces of
/// a pipeline come on the heels of the first.
Timing ring_timing(FoldRequest const& request) {
  auto const work = ring_work(request);
  auto const n = request.placement.ranks;
  auto timing = Timing{launch_latency(request), spread(ring_latency(request, work), work.passes * (n - 1))};
  if (is_pipeline(request.kind)) timing.steps.push_back({pieces_of_pipeline(n) - 1, Duration{}});
  return timing;
}

Folded fold_ring(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const work = ring_work(request);
  auto sheet = LoadSheet{request};
  for (auto const held : at.ranks_held()) {
    auto node = LoadSheet{request};
    add_ring_node(node, request, work, held);
    sheet.take_larger(node);
  }
  // A lane leaves each switch group once and enters it once.
  sheet.add_tiers(work.wire, [](std::int64_t) { return 1.0; });
  sheet.add_memory(work.wire);

  auto const links = work.is_closed ? at.ranks : at.ranks - 1;
  auto const between = at.nodes == 1 ? 0 : (work.is_closed ? at.nodes : at.nodes - 1);
  auto folded = Folded{};
  folded.phases = {{ring_timing(request).total(), sheet.loads(efficiency_of(request, Traffic::kNeighbours)),
                    least_time(request, work.wire)}};
  auto const total = nearest_bytes(work.wire * static_cast<double>(links));
  folded.inter = nearest_bytes(work.wire * static_cast<double>(between));
  folded.intra = total - folded.inter;
  return folded;
}

}  // namespace twinstep::collectives
