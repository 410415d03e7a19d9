#include "sim/collectives/multicast.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/collectives/tuner/environment.hpp"

namespace twinstep::collectives {
namespace {

constexpr std::int64_t kKiB = std::int64_t{1} << 10;

/// A buffer of less than `rounds` rounds is cut into chunks of `most` bytes at most.
struct ChunkLimit {
  std::int64_t rounds;
  std::int64_t most;
};

bool is_tree(FoldRequest const& request) {
  return request.algorithm == Algorithm::kNvlsTree;
}

std::int64_t bytes_at_once(FoldRequest const& request, std::int64_t chunk) {
  return request.channels * heads_of(request.placement.ranks_per_node) * chunk;
}

std::int64_t largest_chunk(FoldRequest const& request) {
  constexpr auto kDefault = Bytes{128 * kKiB};
  constexpr auto kOverManyNodes = Bytes{64 * kKiB};
  auto const environment = tuner::read_environment(request.cluster.library.environment);
  auto const largest = environment.nvls_chunk.value_or(kDefault);
  if (!is_tree(request)) return largest.count();
  auto const in_trees = environment.nvls_tree_chunk.value_or(request.placement.nodes >= 4 ? kOverManyNodes : largest);
  return std::min(largest, in_trees).count();
}

double chunk_efficiency(FoldRequest const& request, Bytes chunk) {
  auto const overhead = request.cluster.library.multicast_chunk_overhead.value;
  return static_cast<double>(chunk.count()) / static_cast<double>((chunk + overhead).count());
}

/// The port is the first link of a route to any other GPU of the node, and the last one back.
topology::Route route(FoldRequest const& request, std::int64_t from, std::int64_t to) {
  auto const links = request.topology.within_node(from, to);
  TWINSTEP_CHECK(!links.empty(), "a GPU on an NVSwitch has a port");
  return links;
}

std::int64_t another(FoldRequest const& request, std::int64_t gpu) {
  return gpu == 0 ? request.cluster.node().gpus - 1 : gpu - 1;
}

}  // namespace

std::int64_t heads_of(std::int64_t ranks_per_node) {
  return std::min(ranks_per_node, kMostHeads);
}

bool keeps_gpu_links(Placement const& placement, topology::Topology const& topology) {
  auto const held = placement.ranks_per_node;
  for (auto const condition : placement.conditions())
    for (auto i = std::int64_t{0}; held > 1 && i < held; ++i) {
      auto const way = topology.within_node(placement.gpu(i, held), placement.gpu((i + 1) % held, held));
      for (auto const link : topology.under(way, condition))
        if (!topology.resource(link).is_gpu_link) return false;
    }
  return true;
}

void require_multicast(FoldRequest const& request) {
  auto const nodes = request.placement.nodes;
  auto const& node = request.cluster.node();
  if (node.intra != hardware::IntraNode::kNvSwitch || node.link.multicast_efficiency.value <= 0)
    throw InputError{
        fmt::format("algorithm: \"{}\" needs an NVSwitch that multicasts, and node \"{}\" has none; use ring",
                    name_of(request.algorithm), node.name)};
  if (!keeps_gpu_links(request.placement, request.topology))
    throw InputError{
        fmt::format("algorithm: \"{}\" needs every GPU's link to the NVSwitch, and cluster.faults break one; use ring",
                    name_of(request.algorithm))};
  if (is_tree(request) == (nodes > 1)) return;
  throw InputError{fmt::format("algorithm: found \"{}\" for ranks on {} node{}, expected \"{}\"",
                               name_of(request.algorithm), nodes, nodes > 1 ? "s" : "",
                               name_of(nodes > 1 ? Algorithm::kNvlsTree : Algorithm::kNvls))};
}

Bytes multicast_chunk(FoldRequest const& request) {
  constexpr auto kLimits = std::to_array<ChunkLimit>({{64, 64 * kKiB}, {8, 32 * kKiB}, {2, 16 * kKiB}});
  constexpr auto kTreeLimits =
      std::to_array<ChunkLimit>({{32, 256 * kKiB}, {16, 128 * kKiB}, {4, 64 * kKiB}, {1, 32 * kKiB}});
  auto chunk = largest_chunk(request);
  auto const apply = [&](ChunkLimit const& limit) {
    if (request.size.count() < limit.rounds * bytes_at_once(request, chunk)) chunk = std::min(chunk, limit.most);
  };
  if (is_tree(request))
    std::ranges::for_each(kTreeLimits, apply);
  else
    std::ranges::for_each(kLimits, apply);
  return Bytes{chunk};
}

double multicast_efficiency(FoldRequest const& request) {
  auto const& link = request.cluster.node().link;
  auto const is_rack = request.placement.ranks_per_node > 8;
  auto const reached = is_rack ? link.rack_multicast_efficiency.value : link.multicast_efficiency.value;
  auto const in_trees = is_tree(request) ? request.cluster.library.multicast_tree_efficiency.value : 1.0;
  return reached * in_trees * chunk_efficiency(request, multicast_chunk(request));
}

MulticastFlow multicast_flow(FoldRequest const& request) {
  auto const size = static_cast<double>(request.size.count());
  auto const chunk = multicast_chunk(request);
  auto const efficiency = efficiency_of(request, Traffic::kMulticast).inside;
  TWINSTEP_CHECK(efficiency > 0, "a switch that multicasts reaches some of its rate");
  auto const piece = static_cast<double>(bytes_at_once(request, chunk.count())) * chunk_efficiency(request, chunk);
  auto const pieces = std::max<std::int64_t>(1, std::llround(size / piece));
  return {pieces, size / static_cast<double>(pieces) / (efficiency * request.cluster.node().gpu_link.value.count())};
}

void add_to_switch(LoadSheet& sheet, FoldRequest const& request, std::int64_t gpu, double bytes) {
  sheet.add_inside(route(request, gpu, another(request, gpu)).first(1), bytes);
}

void add_from_switch(LoadSheet& sheet, FoldRequest const& request, std::int64_t gpu, double bytes) {
  sheet.add_inside(route(request, another(request, gpu), gpu).last(1), bytes);
}

}  // namespace twinstep::collectives
