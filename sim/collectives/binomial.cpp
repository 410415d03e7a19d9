#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/load_sheet.hpp"

/// The binomial tree. Counted from the root, the parent of a place is the place without its lowest set bit, and the
/// tree below a place with lowest bit b is the b places from it on. Away from the root data takes the farthest step
/// first, so that it crosses between nodes before it spreads inside them; towards the root, the nearest (Thakur,
/// Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 3; MPICH's and Gloo's broadcast).
namespace twinstep::collectives {
namespace {

bool is_towards_root(CollectiveKind kind) {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather;
}
/// Whether ranks have a chunk each, so that a link carries the chunks of the tree below it.
bool has_chunks(CollectiveKind kind) {
  return kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
}

/// The chunks of places [first, last), which are those of ranks counted from the root on: up to the last rank on lane
/// 0, and on from rank 0 on lane 1.
std::optional<Message> chunks_of(Schedule const& tree, std::int64_t to, std::int64_t first, std::int64_t last,
                                 std::int64_t lane) {
  auto const begin = wrap(first + tree.root, tree.ranks);
  auto const end = begin + std::min(last, tree.ranks) - first;
  if (lane == 0) return Message{to, begin, std::min(end, tree.ranks) - begin, false};
  if (end <= tree.ranks) return std::nullopt;
  return Message{to, 0, end - tree.ranks, false};
}

/// Between a place and its child `reach` places on: the whole buffer, or the chunks of the child's tree.
std::optional<Message> over_edge(Schedule const& tree, std::int64_t to, std::int64_t child, std::int64_t reach,
                                 std::int64_t lane) {
  if (has_chunks(tree.kind)) return chunks_of(tree, to, child, child + reach, lane);
  if (lane > 0) return std::nullopt;
  return Message{to, 0, 1, tree.kind == CollectiveKind::kReduce};
}

std::optional<Message> from_root_step(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const place = wrap(rank - tree.root, tree.ranks);
  auto const reach = std::int64_t{1} << (tree.steps - 1 - step);
  if (place % (2 * reach) != 0 || place + reach >= tree.ranks) return std::nullopt;
  return over_edge(tree, wrap(rank + reach, tree.ranks), place + reach, reach, lane);
}

std::optional<Message> to_root_step(Schedule const& tree, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const place = wrap(rank - tree.root, tree.ranks);
  auto const reach = std::int64_t{1} << step;
  if (place % (2 * reach) != reach) return std::nullopt;
  return over_edge(tree, wrap(rank - reach, tree.ranks), place, reach, lane);
}

}  // namespace

Schedule binomial_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root) {
  TWINSTEP_CHECK(kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce || has_chunks(kind),
                 "a binomial tree does not do this collective");
  auto tree = Schedule{kind, ranks, root};
  tree.chunks = has_chunks(kind) ? ranks : 1;
  tree.lanes = has_chunks(kind) ? 2 : 1;
  tree.steps = ceil_log2(ranks);
  tree.successor = is_towards_root(kind) ? to_root_step : from_root_step;
  return tree;
}

namespace {

/// Whether all edges of this length stay inside nodes. Where nodes do not hold a power of two, some edges shorter than
/// a node leave it.
bool stays_inside(Placement const& at, std::int64_t reach) {
  return at.nodes == 1 || (at.ranks_per_node % (2 * reach) == 0);
}

Duration step_latency(FoldRequest const& request, std::int64_t reach) {
  auto const& at = request.placement;
  if (stays_inside(at, reach)) return inside_step(request);
  return between_step(request, at.meeting(divide_up(reach, at.ranks_per_node)));
}

/// Bytes over the root's edge of this length.
double root_bytes(FoldRequest const& request, std::int64_t reach) {
  auto const size = static_cast<double>(request.size.count());
  if (!has_chunks(request.kind)) return size;
  auto const ranks = request.placement.ranks;
  return size / static_cast<double>(ranks) * static_cast<double>(std::min(reach, ranks - reach));
}

/// Edges shorter than a node, in every node: the one below the root has the largest trees.
Phase inside_phase(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const held = at.ranks_per_node;
  auto sheet = LoadSheet{request};
  auto latency = Duration{};
  for (auto reach = std::int64_t{1}; reach < held; reach *= 2) {
    auto const bytes = root_bytes(request, reach);
    for (auto i = std::int64_t{0}; i + reach < held; i += 2 * reach) {
      auto const near = at.gpu(i, held);
      auto const far = at.gpu(i + reach, held);
      sheet.add_inside(is_towards_root(request.kind) ? request.topology.within_node(far, near)
                                                     : request.topology.within_node(near, far),
                       bytes);
    }
    latency += step_latency(request, reach);
    sheet.add_memory(bytes);
  }
  return {latency, sheet.loads(efficiency_of(request, Traffic::kNeighbours)), {}};
}

/// Edges at least as long as a node: the root has one of each length.
Phase between_phase(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const gpu = at.gpu(0, at.ranks_per_node);
  auto sheet = LoadSheet{request};
  auto latency = Duration{};
  auto on_tier = std::vector<double>(request.topology.levels() + 1);
  auto carried = 0.0;
  for (auto reach = std::int64_t{1}; reach < at.ranks; reach *= 2) {
    if (reach < at.ranks_per_node) continue;
    auto const bytes = root_bytes(request, reach);
    carried += bytes;
    latency += step_latency(request, reach);
    for (auto level = std::size_t{1}; at.leaves(level); ++level)
      if (reach >= at.nodes_per_switch_group(level) * at.ranks_per_node) on_tier[level] += bytes;
  }
  sheet.add_outside(is_towards_root(request.kind) ? request.topology.into_node(gpu) : request.topology.out_of_node(gpu),
                    carried);
  for (auto level = std::size_t{1}; at.leaves(level); ++level) {
    auto const groups = static_cast<double>(at.groups_on_switch(level));  // whose roots share it
    sheet.add_tier(level, on_tier[level] * groups * static_cast<double>(at.interleaved(level)));
  }
  sheet.add_memory(carried);
  return {latency, sheet.loads(efficiency_of(request, Traffic::kNeighbours)), {}};
}

/// Bytes over all edges of this length: the whole buffer each, or the chunks of all places that have this bit.
double bytes_over(FoldRequest const& request, std::int64_t reach) {
  auto const ranks = request.placement.ranks;
  auto const size = static_cast<double>(request.size.count());
  auto const senders = ((ranks - 1) / reach + 1) / 2;
  if (!has_chunks(request.kind)) return size * static_cast<double>(senders);
  auto const places = ranks / (2 * reach) * reach + std::max<std::int64_t>(0, ranks % (2 * reach) - reach);
  return size / static_cast<double>(ranks) * static_cast<double>(places);
}

}  // namespace

Timing binomial_timing(FoldRequest const& request) {
  auto timing = Timing{launch_latency(request), {}};
  for (auto reach = std::int64_t{1}; reach < request.placement.ranks; reach *= 2)
    timing.steps.push_back({1, step_latency(request, reach)});
  if (!is_towards_root(request.kind)) std::ranges::reverse(timing.steps);
  return timing;
}

Folded fold_binomial(FoldRequest const& request) {
  auto const& at = request.placement;
  auto folded = Folded{};
  if (at.nodes > 1) folded.phases.push_back(between_phase(request));
  if (at.ranks_per_node > 1) folded.phases.push_back(inside_phase(request));
  if (is_towards_root(request.kind)) std::ranges::reverse(folded.phases);
  folded.phases.front().latency += launch_latency(request);
  auto inside = 0.0;
  auto total = 0.0;
  for (auto reach = std::int64_t{1}; reach < at.ranks; reach *= 2) {
    auto const bytes = bytes_over(request, reach);
    total += bytes;
    if (reach < at.ranks_per_node) inside += bytes;
  }
  folded.intra = nearest_bytes(inside);
  folded.inter = nearest_bytes(total) - folded.intra;
  return folded;
}

}  // namespace twinstep::collectives
