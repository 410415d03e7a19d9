#include <algorithm>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/load_sheet.hpp"
#include "sim/collectives/pipeline.hpp"
#include "sim/collectives/tuner/environment.hpp"

/// CollNet: the network's switches reduce and multicast (SHARP). Rank h of every node is head of part h, on rail h; a
/// node brings each part to its head, the network adds the nodes up, and the head spreads the result. Direct: every
/// rank deals with all heads of its node at once. Chain: a chain through the node for each head (NVIDIA/nccl
/// src/device/all_reduce.h, src/transport/coll_net.cc).
namespace twinstep::collectives {
namespace {

/// Where a participant of the schedule stands.
struct Place {
  Schedule const& net;
  std::int64_t rank = 0;

  [[nodiscard]] bool is_agent() const { return rank >= net.ranks; }
  [[nodiscard]] std::int64_t first() const { return rank - index(); }  ///< of its node
  [[nodiscard]] std::int64_t index() const { return rank % net.ranks_per_node; }
  [[nodiscard]] std::int64_t held() const { return std::min(net.ranks_per_node, net.ranks - first()); }
  [[nodiscard]] bool is_head() const { return !is_agent() && index() < net.agents; }
};

std::optional<Message> to_network(Schedule const& net, std::int64_t rank, std::int64_t lane) {
  auto const at = Place{net, rank};
  if (!at.is_head() || lane != 0) return std::nullopt;
  return Message{net.ranks + at.index(), at.index(), 1, true};
}

std::optional<Message> from_network(Schedule const& net, std::int64_t rank, std::int64_t lane) {
  auto const head = rank - net.ranks;
  if (head < 0 || lane >= divide_up(net.ranks, net.ranks_per_node)) return std::nullopt;
  return Message{lane * net.ranks_per_node + head, head, 1, false};
}

std::optional<Message> direct_step(Schedule const& net, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  if (step == 1) return to_network(net, rank, lane);
  if (step == 2) return from_network(net, rank, lane);
  auto const at = Place{net, rank};
  if (at.is_agent() || lane == at.index()) return std::nullopt;
  if (step == 0 && lane < net.agents) return Message{at.first() + lane, lane, 1, true};
  if (step == 3 && at.is_head() && lane < at.held()) return Message{at.first() + lane, at.index(), 1, false};
  return std::nullopt;
}

/// Lane h belongs to head h. Ranks pass its part on by how far they stand behind it in their node.
std::optional<Message> chain_step(Schedule const& net, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const chain = net.ranks_per_node - 1;
  if (step == chain) return to_network(net, rank, lane);
  if (step == chain + 1) return from_network(net, rank, lane);
  auto const at = Place{net, rank};
  if (at.is_agent() || lane >= net.agents) return std::nullopt;
  auto const behind = wrap(at.index() - lane, at.held());
  auto const neighbour = [&](std::int64_t distance) { return at.first() + wrap(at.index() + distance, at.held()); };
  if (step < chain) {
    if (behind == 0 || behind != chain - step) return std::nullopt;
    return Message{neighbour(-1), lane, 1, true};
  }
  if (behind != step - chain - 2 || behind + 1 >= at.held()) return std::nullopt;
  return Message{neighbour(1), lane, 1, false};
}

}  // namespace

Schedule collnet_schedule(Algorithm algorithm, std::int64_t ranks, std::int64_t ranks_per_node) {
  auto net = Schedule{CollectiveKind::kAllReduce, ranks, 0, std::min(ranks_per_node, ranks)};
  auto const nodes = divide_up(ranks, net.ranks_per_node);
  // Every rail has a head on every node: on the one with the fewest ranks too.
  net.agents = ranks - (nodes - 1) * net.ranks_per_node;
  net.agents_sit_in_network = true;
  net.chunks = net.agents;
  net.lanes = std::max(net.ranks_per_node, nodes);
  auto const is_chain = algorithm == Algorithm::kCollNetChain;
  net.steps = ranks == 1 ? 0 : (is_chain ? 2 * net.ranks_per_node : 4);
  net.successor = is_chain ? chain_step : direct_step;
  return net;
}

namespace {

bool is_chain(FoldRequest const& request) {
  return request.algorithm == Algorithm::kCollNetChain;
}

/// Only the user can know whether the network's switches reduce.
void require_network_reduction(FoldRequest const& request) {
  auto const name = name_of(request.algorithm);
  if (request.placement.nodes == 1)
    throw InputError{fmt::format("algorithm: found \"{}\" for ranks on one node, expected several; use ring", name)};
  if (tuner::read_environment(request.cluster.library.environment).collnet != true)
    throw InputError{fmt::format(
        "algorithm: \"{}\" needs switches that reduce; set NCCL_COLLNET_ENABLE=1 if the network has them", name)};
}

/// Each of its ports carries the parts of the other heads twice, each of its NICs its own part once either way.
void add_collnet_node(LoadSheet& sheet, FoldRequest const& request, double size, std::int64_t held) {
  auto const& at = request.placement;
  auto const part = size / static_cast<double>(held);
  for (auto i = std::int64_t{0}; i < held; ++i) {
    auto const gpu = at.gpu(i, held);
    auto const inside = [&](std::int64_t j, double bytes) {
      if (held > 1) sheet.add_inside(request.topology.within_node(gpu, at.gpu((j + held) % held, held)), bytes);
    };
    if (is_chain(request)) {
      inside(i - 1, size - part);
      inside(i + 1, size - part);
    } else {
      for (auto j = i + 1; j < i + held; ++j) inside(j, 2 * part);
    }
    sheet.add_outside(request.topology.out_of_node(gpu), part);
    sheet.add_outside(request.topology.into_node(gpu), part);
  }
}

}  // namespace

/// NCCL counts 0.4 us for each peer of the direct way (src/graph/tuning.cc).
Timing collnet_timing(FoldRequest const& request) {
  constexpr auto kChunk = std::int64_t{128} << 10;
  constexpr auto kEachPeer = Duration{400'000};
  auto const& at = request.placement;
  auto const peers = at.ranks_per_node - 1;
  auto const inside = is_chain(request)
                          ? StepRun{peers, inside_step(request)}
                          : StepRun{1, inside_step(request) * std::min<std::int64_t>(1, peers) + kEachPeer * peers};
  auto timing = Timing{launch_latency(request), {inside}};
  for (auto const& run : spread(between_step(request, std::max<std::size_t>(1, at.farthest_meeting())), 2))
    timing.steps.push_back(run);
  timing.steps.push_back(inside);
  return pipelined_timing(std::move(timing),
                          divide_up(request.size.count(), request.channels * at.ranks_per_node * kChunk));
}

Folded fold_collnet(FoldRequest const& request) {
  require_network_reduction(request);
  auto const& at = request.placement;
  auto const size = static_cast<double>(request.size.count());
  auto sheet = LoadSheet{request};
  for (auto const held : at.ranks_held()) {
    auto node = LoadSheet{request};
    add_collnet_node(node, request, size, held);
    sheet.take_larger(node);
  }
  sheet.add_tiers(size, [](std::int64_t groups) { return groups > 1 ? 1.0 : 0.0; });
  sheet.add_memory(2 * size);

  auto folded = Folded{};
  auto const traffic = is_chain(request) ? Traffic::kNeighbours : Traffic::kPeers;
  folded.phases = {{collnet_timing(request).total(), sheet.loads(efficiency_of(request, traffic)), {}}};
  folded.intra = request.size * (2 * (at.ranks - at.nodes));
  folded.inter = request.size * at.nodes;
  return folded;
}

}  // namespace twinstep::collectives
