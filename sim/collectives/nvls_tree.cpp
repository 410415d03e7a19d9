#include <algorithm>
#include <array>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/double_tree.hpp"
#include "sim/collectives/multicast.hpp"
#include "sim/collectives/pipeline.hpp"

/// NVLSTree: the switch of each node reduces, heads of the same place in their nodes add up over a double binary tree
/// of nodes, each on its rail, and the switches multicast; piece after piece (NVIDIA/nccl src/device/all_reduce.h).
namespace twinstep::collectives {
namespace {

std::int64_t levels_of(Schedule const& tree) {
  return (tree.steps - 4) / 2;
}

/// One head for each two chunks: one of either tree.
std::int64_t rails_of(Schedule const& tree) {
  return tree.chunks / 2;
}

/// The first and last stages: between the ranks of a node and their switch.
std::optional<Message> hand_over(Schedule const& tree, std::int64_t rank, std::int64_t lane) {
  if (rank >= tree.ranks || lane >= rails_of(tree)) return std::nullopt;
  auto const node = rank / tree.ranks_per_node;
  return Message{tree.ranks + node * tree.ranks_per_node + lane, 2 * lane, 2, true};
}

std::optional<Message> multicast(Schedule const& tree, std::int64_t rank, std::int64_t lane) {
  if (rank < tree.ranks) return std::nullopt;
  auto const head = rank - tree.ranks;
  auto const place = head % tree.ranks_per_node;
  auto const to = head - place + lane;
  if (place >= rails_of(tree) || lane >= tree.ranks_per_node || to >= tree.ranks) return std::nullopt;
  return Message{to, 2 * place, 2, false};
}

/// Between a head and its part of the switch.
std::optional<Message> head_and_switch(Schedule const& tree, std::int64_t rank, std::int64_t lane, bool is_to_head) {
  auto const is_agent = rank >= tree.ranks;
  auto const head = is_agent ? rank - tree.ranks : rank;
  auto const place = head % tree.ranks_per_node;
  if (is_agent != is_to_head || lane != 0 || place >= rails_of(tree)) return std::nullopt;
  return Message{is_to_head ? head : tree.ranks + head, 2 * place, 2, false};
}

/// Lanes 0 and 1 belong to the first tree, 2 and 3 to the second.
std::optional<Message> between_nodes(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const place = rank % tree.ranks_per_node;
  if (rank >= tree.ranks || place >= rails_of(tree) || lane >= 4) return std::nullopt;
  auto const shape = DoubleTree{divide_up(tree.ranks, tree.ranks_per_node)};
  auto const node = rank / tree.ranks_per_node;
  auto const which = lane / 2;
  auto const is_up = step < levels_of(tree);
  if (is_up && lane % 2 != 0) return std::nullopt;
  auto const to = is_up ? shape.up(node, which, step) : shape.down(node, which, step - levels_of(tree), lane % 2);
  if (!to) return std::nullopt;
  return Message{*to * tree.ranks_per_node + place, 2 * place + which, 1, is_up};
}

std::optional<Message> nvls_tree_step(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  if (step == 0) return hand_over(tree, rank, lane);
  if (step == 1) return head_and_switch(tree, rank, lane, true);
  if (step == tree.steps - 2) return head_and_switch(tree, rank, lane, false);
  if (step == tree.steps - 1) return multicast(tree, rank, lane);
  return between_nodes(tree, rank, step - 2, lane);
}

}  // namespace

Schedule nvls_tree_schedule(std::int64_t ranks, std::int64_t ranks_per_node) {
  auto tree = Schedule{CollectiveKind::kAllReduce, ranks, 0, std::min(ranks_per_node, ranks)};
  auto const shape = DoubleTree{divide_up(ranks, tree.ranks_per_node)};
  // Every rail has a head on every node: on the one with the fewest ranks too.
  auto const fewest = ranks - (shape.nodes - 1) * tree.ranks_per_node;
  tree.agents = ranks;
  tree.chunks = 2 * heads_of(fewest);
  tree.lanes = std::max<std::int64_t>(4, tree.ranks_per_node);
  tree.steps = ranks == 1 ? 0 : 4 + 2 * shape.levels();
  tree.successor = nvls_tree_step;
  return tree;
}

namespace {

/// Into the switch and to the head, and back. The network's steps wait, but fill no faster or slower for it.
std::array<StageLoad, 4> switch_stages(FoldRequest const& request, double seconds_a_piece) {
  auto const part = seconds_a_piece / static_cast<double>(heads_of(request.placement.ranks_per_node));
  return {StageLoad{seconds_a_piece, 0, 0, 0}, StageLoad{0, part, 0, 0}, StageLoad{part, 0, 0, 0},
          StageLoad{0, seconds_a_piece, 0, 0}};
}

/// Every rank's part passes its switch twice; a head's passes twice more. The node's part of the trees is spread over
/// the NICs of its GPUs.
void add_switch_node(LoadSheet& sheet, FoldRequest const& request, double size, std::int64_t held) {
  auto const& at = request.placement;
  auto const port = size * (1 + 1 / static_cast<double>(heads_of(held)));
  auto const nic = busiest_node_share(at.nodes) * size / static_cast<double>(held);
  for (auto i = std::int64_t{0}; i < held; ++i) {
    auto const gpu = at.gpu(i, held);
    add_to_switch(sheet, request, gpu, port);
    add_from_switch(sheet, request, gpu, port);
    sheet.add_outside(request.topology.out_of_node(gpu), nic);
    sheet.add_outside(request.topology.into_node(gpu), nic);
  }
}

}  // namespace

Timing nvls_tree_timing(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const& cluster = request.cluster;
  auto const in = cluster.node().link.multicast_latency.value / 2;
  auto const levels = DoubleTree{at.nodes}.levels();
  auto timing = Timing{cluster.library.kernel_start.value, {}};
  auto const wait = [&](Duration latency, std::int64_t steps) {
    for (auto const& run : spread(latency, steps)) timing.steps.push_back(run);
  };
  wait(in, 2);
  for (auto way = 0; way < 2; ++way) wait(climb(request, floor_log2(at.nodes)), levels);
  wait(cluster.node().link.multicast_latency.value - in, 2);
  return pipelined_timing(std::move(timing), multicast_flow(request).pieces);
}

Folded fold_nvls_tree(FoldRequest const& request) {
  auto const& at = request.placement;
  require_multicast(request);
  auto const size = static_cast<double>(request.size.count());
  auto const flow = multicast_flow(request);
  auto sheet = LoadSheet{request};
  for (auto const held : at.ranks_held()) {
    auto node = LoadSheet{request};
    add_switch_node(node, request, size, held);
    sheet.take_larger(node);
  }
  sheet.add_tiers(size, busiest_node_share);
  sheet.add_memory(size * (1 + 1 / static_cast<double>(heads_of(at.ranks_per_node))));

  auto folded = Folded{};
  auto const latency =
      nvls_tree_timing(request).total() + fill_time(switch_stages(request, flow.seconds_a_piece), flow.pieces);
  folded.phases = {{latency, sheet.loads(efficiency_of(request, Traffic::kMulticast)), {}}};
  folded.intra = request.size * (at.ranks + at.nodes);
  folded.inter = request.size * (2 * (at.nodes - 1));
  return folded;
}

}  // namespace twinstep::collectives
