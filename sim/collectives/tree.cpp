#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/double_tree.hpp"
#include "sim/collectives/load_sheet.hpp"
#include "sim/collectives/pipeline.hpp"

/// all_reduce over a double binary tree of nodes, with a chain through the ranks of each node, piece after piece.
namespace twinstep::collectives {
namespace {

/// Between the first ranks of nodes. Lanes 0 and 1 belong to the first tree, 2 and 3 to the second; chunk t takes tree
/// t.
std::optional<Message> between_nodes(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t lane,
                                     bool is_up) {
  auto const shape = DoubleTree{divide_up(tree.ranks, tree.ranks_per_node)};
  auto const node = rank / tree.ranks_per_node;
  auto const which = lane / 2;
  if (is_up && lane % 2 != 0) return std::nullopt;
  auto const to = is_up ? shape.up(node, which, step) : shape.down(node, which, step, lane % 2);
  if (!to) return std::nullopt;
  return Message{*to * tree.ranks_per_node, which, 1, is_up};
}

/// Up the chains to the first rank of each node, up the trees, down the trees, down the chains.
std::optional<Message> tree_all_reduce_step(Schedule const& tree, std::int64_t rank, std::int64_t step,
                                            std::int64_t lane) {
  auto const chain = tree.ranks_per_node - 1;
  auto const levels = tree.steps / 2 - chain;
  auto const place = rank % tree.ranks_per_node;
  if (step < chain) {
    if (lane != 0 || place != chain - step) return std::nullopt;
    return Message{rank - 1, 0, 2, true};
  }
  step -= chain;
  if (step < 2 * levels) {
    if (place != 0) return std::nullopt;
    return step < levels ? between_nodes(tree, rank, step, lane, true)
                         : between_nodes(tree, rank, step - levels, lane, false);
  }
  step -= 2 * levels;
  auto const is_last = place == chain || rank + 1 == tree.ranks;
  if (lane != 0 || place != step || is_last) return std::nullopt;
  return Message{rank + 1, 0, 2, false};
}

/// Messages of one rank in one step, of one part of the buffer.
constexpr std::int64_t kLanes = 4;

/// Each rank of a node is the head of the chain for a part of the buffer, as NCCL's channels rotate over the GPUs so
/// that the node's NICs share what goes between nodes. Part h sees the ranks of a node counted from its h-th. Where
/// nodes are not equally full, there is one part.
std::optional<Message> dealt_step(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const part = lane / kLanes;
  auto const seen_from = [&](std::int64_t of, std::int64_t shift) {
    auto const place = of % tree.ranks_per_node;
    return of - place + wrap(place + shift, tree.ranks_per_node);
  };
  auto message = tree_all_reduce_step(tree, part == 0 ? rank : seen_from(rank, -part), step, lane % kLanes);
  if (message && part > 0) {
    message->to = seen_from(message->to, part);
    message->first_chunk += 2 * part;
  }
  return message;
}

}  // namespace

Schedule tree_schedule(std::int64_t ranks, std::int64_t ranks_per_node) {
  auto tree = Schedule{CollectiveKind::kAllReduce, ranks, 0, std::min(ranks_per_node, ranks)};
  auto const shape = DoubleTree{divide_up(ranks, tree.ranks_per_node)};
  auto const parts = ranks % tree.ranks_per_node == 0 && ranks > tree.ranks_per_node ? tree.ranks_per_node : 1;
  tree.chunks = 2 * parts;
  tree.lanes = kLanes * parts;
  tree.steps = 2 * (tree.ranks_per_node - 1 + shape.levels());
  tree.successor = dealt_step;
  return tree;
}

namespace {

// Fitted to measured all_reduce sweeps between nodes; two nodes with 4 NICs of 100 Gb/s each carry the fit. A pipeline
// of whole pieces through every GPU of the chain, step by step, would take 0.84 times as long there, five times as long
// with 8 NICs of 400 Gb/s, and nothing with one GPU a node.
constexpr double kFillLoops = 1.4;            ///< chunks that a network step waits for before the pipeline is full
constexpr double kFillBytesPerNic = 2 << 19;  ///< two chunks of 512 KiB

/// Bytes that one channel passes on at a time (NVIDIA/nccl src/enqueue.cc, calcCollChunking). LL128's shrinks until
/// the pipeline has enough pieces for its depth.
std::int64_t chunk_bytes(FoldRequest const& request) {
  using namespace literals;
  if (request.protocol == Protocol::kSimple) return (512_KiB).count();
  if (request.protocol == Protocol::kLl) return (32_KiB).count();
  auto const& at = request.placement;
  auto const per_node = static_cast<double>(at.ranks_per_node);
  auto const depth = 1 + static_cast<double>(floor_log2(at.nodes)) + 0.1 * per_node;
  auto chunk = std::int64_t{576'000};
  auto const pieces = [&] {
    return static_cast<double>(request.size.count()) / static_cast<double>(request.channels * chunk);
  };
  while (pieces() < depth * 64 / per_node && chunk > (128_KiB).count()) chunk /= 2;
  while (pieces() < depth * 16 / per_node && chunk > (32_KiB).count()) chunk /= 2;
  return chunk;
}

/// Both directions of every link of the chain carry the buffer; the node's part of the tree is spread over the NICs
/// of its GPUs.
void add_all_reduce_node(LoadSheet& sheet, FoldRequest const& request, double size, std::int64_t held) {
  auto const& at = request.placement;
  auto const over_nics = busiest_node_share(at.nodes) * size;
  for (auto i = std::int64_t{0}; i < held; ++i) {
    auto const gpu = at.gpu(i, held);
    if (i + 1 < held) {
      sheet.add_neighbours(i, i + 1, held, size);
      sheet.add_neighbours(i + 1, i, held, size);
    }
    if (at.nodes == 1) continue;
    sheet.add_outside(request.topology.out_of_node(gpu), over_nics / static_cast<double>(held));
    sheet.add_outside(request.topology.into_node(gpu), over_nics / static_cast<double>(held));
  }
}

/// The network's pipeline fills before it flows.
Phase fill_phase(FoldRequest const& request, double size, std::int64_t steps) {
  auto const& at = request.placement;
  auto sheet = LoadSheet{request};
  auto const held = at.ranks_per_node;
  auto const nics = static_cast<double>(at.nics(held));
  auto const bytes = kFillLoops * 2 * static_cast<double>(steps) * std::min(size, nics * kFillBytesPerNic);
  for (auto i = std::int64_t{0}; i < held; ++i)
    sheet.add_outside(request.topology.out_of_node(at.gpu(i, held)), bytes / static_cast<double>(held));
  return {Duration{}, sheet.loads(efficiency_of(request, Traffic::kNeighbours)), {}};
}

}  // namespace

/// Up the chain and the tree, and down again. NCCL counts floor(log2 N) network steps each way (src/graph/tuning.cc);
/// the deepest leaves need ceil(log2 N).
Timing tree_timing(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const chain = StepRun{at.ranks_per_node - 1, inside_step(request)};
  auto const network = spread(climb(request, floor_log2(at.nodes)), DoubleTree{at.nodes}.levels());
  auto timing = Timing{launch_latency(request), {chain}};
  for (auto way = 0; way < 2; ++way) timing.steps.insert(timing.steps.end(), network.begin(), network.end());
  timing.steps.push_back(chain);
  return pipelined_timing(std::move(timing), divide_up(request.size.count(), request.channels * chunk_bytes(request)));
}

Folded fold_tree(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const size = static_cast<double>(request.size.count());
  auto sheet = LoadSheet{request};
  for (auto const held : at.ranks_held()) {
    auto node = LoadSheet{request};
    add_all_reduce_node(node, request, size, held);
    sheet.take_larger(node);
  }
  sheet.add_tiers(size, busiest_node_share);
  sheet.add_memory(2 * size);

  auto folded = Folded{};
  // LL's limit holds for what a link of a ring would carry, half of the tree's two directions (src/graph/tuning.cc).
  folded.phases = {{tree_timing(request).total(), sheet.loads(efficiency_of(request, Traffic::kNeighbours)),
                    least_time(request, 2 * size)}};
  if (at.nodes > 1 && request.protocol == Protocol::kSimple)
    folded.phases.push_back(fill_phase(request, size, floor_log2(at.nodes)));
  folded.intra = request.size * (2 * (at.ranks - at.nodes));
  folded.inter = request.size * (2 * (at.nodes - 1));
  return folded;
}

}  // namespace twinstep::collectives
