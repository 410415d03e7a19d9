#include <algorithm>
#include <array>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/load_sheet.hpp"

/// all_reduce over NCCL's double binary tree of nodes, with a chain through the ranks of each node; half of the data
/// takes each tree, and a node is a leaf in at least one of the two, so no node forwards everything twice (NVIDIA/nccl
/// src/graph/trees.cc; Sanders, Speck, Träff, Parallel Computing 35(12), 2009).
namespace twinstep::collectives {
namespace {

using program::CollectiveKind;

/// A binary tree over nodes 0 … count - 1 whose shape follows from the binary digits. Node 0 is the root. Any other
/// has a lowest set bit b; it stands log2(b) levels above the odd nodes, which are the leaves.
struct BinaryTree {
  std::int64_t count = 1;

  static std::int64_t lowest_bit(std::int64_t node) { return node & -node; }
  static std::int64_t level(std::int64_t node) { return floor_log2(lowest_bit(node)); }
  /// The level of the root's only child, the highest power of two below `count`. Requires count > 1.
  [[nodiscard]] std::int64_t top_level() const { return floor_log2(count - 1); }

  [[nodiscard]] std::int64_t parent(std::int64_t node) const {
    auto const bit = lowest_bit(node);
    auto const above = (node ^ bit) | (bit << 1);
    return above < count ? above : node ^ bit;
  }

  /// Child 0 or 1, if there is one.
  [[nodiscard]] std::optional<std::int64_t> child(std::int64_t node, std::int64_t which) const {
    if (node == 0) {
      if (which == 1 || count == 1) return std::nullopt;
      return std::int64_t{1} << top_level();
    }
    auto offset = lowest_bit(node) / 2;
    if (which == 0) return offset > 0 ? std::optional{node - offset} : std::nullopt;
    while (offset > 0 && node + offset >= count) offset /= 2;
    return offset > 0 ? std::optional{node + offset} : std::nullopt;
  }
};

/// The second tree is the first one mirrored, or shifted by one if the number of nodes is odd.
std::int64_t place_in_tree(std::int64_t node, std::int64_t tree, std::int64_t nodes) {
  if (tree == 0) return node;
  return nodes % 2 == 0 ? nodes - 1 - node : (node + nodes - 1) % nodes;
}

std::int64_t node_at(std::int64_t place, std::int64_t tree, std::int64_t nodes) {
  if (tree == 0) return place;
  return nodes % 2 == 0 ? nodes - 1 - place : (place + 1) % nodes;
}

/// Between the first ranks of nodes. In up-step l the nodes of level l send to their parents; a parent stands higher
/// than its children, so it has heard them all. Down-steps run the same levels backwards. Lanes 0 and 1 belong to the
/// first tree, 2 and 3 to the second; chunk t takes tree t.
std::optional<Message> between_nodes(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t lane,
                                     bool is_up) {
  auto const nodes = divide_up(tree.ranks, tree.ranks_per_node);
  auto const which = lane / 2;
  auto const shape = BinaryTree{nodes};
  auto const place = place_in_tree(rank / tree.ranks_per_node, which, nodes);
  auto const to_rank = [&](std::int64_t to) { return node_at(to, which, nodes) * tree.ranks_per_node; };
  if (is_up) {
    if (lane % 2 != 0 || place == 0 || BinaryTree::level(place) != step) return std::nullopt;
    return Message{to_rank(shape.parent(place)), which, 1, true};
  }
  auto const child = shape.child(place, lane % 2);
  if (!child || BinaryTree::level(*child) != shape.top_level() - step) return std::nullopt;
  return Message{to_rank(*child), which, 1, false};
}

/// Up the chains to the first rank of each node, up the trees, down the trees, down the chains.
std::optional<Message> all_reduce_step(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t lane) {
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

}  // namespace

Schedule tree_schedule(std::int64_t ranks, std::int64_t ranks_per_node) {
  auto tree = Schedule{CollectiveKind::kAllReduce, ranks, 0, std::min(ranks_per_node, ranks)};
  auto const nodes = divide_up(ranks, tree.ranks_per_node);
  tree.chunks = 2;
  tree.lanes = 4;
  tree.steps = 2 * (tree.ranks_per_node - 1 + ceil_log2(nodes));
  tree.successor = all_reduce_step;
  return tree;
}

namespace {

// Fitted to measured all_reduce sweeps: collective-cost.md section 2, row "Tree Simple".
constexpr double kFillLoops = 1.4;            ///< chunks that a network step waits for before the pipeline is full
constexpr double kFillBytesPerNic = 2 << 19;  ///< two chunks of 512 KiB

/// m(N): bytes that the busiest node sends over its NICs, in buffers, for a double binary tree of N nodes
/// (collective-cost.md section 2). A node between two others passes half of the data three ways in one tree and
/// one way in the other.
double busiest_node_share(std::int64_t nodes) {
  constexpr auto kShares = std::array{0.0, 0.0, 1.0, 1.5};
  return nodes < 4 ? kShares[static_cast<std::size_t>(nodes)] : 2.0;
}

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

/// Both directions of every link of the chain carry the buffer; the node's part of the tree is spread over the NICs
/// of its GPUs.
void add_all_reduce_node(LoadSheet& sheet, FoldRequest const& request, double size, std::int64_t held) {
  auto const& at = request.placement;
  auto const over_nics = busiest_node_share(at.nodes) * size;
  for (auto i = std::int64_t{0}; i < held; ++i) {
    auto const gpu = at.gpu(i, held);
    if (i + 1 < held) {
      sheet.add_inside(request.topology.within_node(gpu, at.gpu(i + 1, held)), size);
      sheet.add_inside(request.topology.within_node(at.gpu(i + 1, held), gpu), size);
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

/// Up the chain and the tree, and down again.
Timing tree_timing(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const steps = floor_log2(at.nodes);
  auto const inside = inside_step(request) * (at.ranks_per_node - 1);
  return {launch_latency(request), {{2, inside + climb(request, steps)}}};
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
  add_tiers(sheet, request, size, busiest_node_share);
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
