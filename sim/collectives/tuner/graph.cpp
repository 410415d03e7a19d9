#include "sim/collectives/tuner/graph.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "sim/collectives/multicast.hpp"

namespace twinstep::collectives::tuner {
namespace {

using hardware::Cluster;
using hardware::GraphSearch;
using hardware::IntraNode;
using Speeds = std::span<BytesPerSecond const>;

constexpr std::int64_t kMostSearched = 32;  ///< channels that the search looks for (src/graph/search.cc)
/// Profiles round rates to three digits, and a channel fits where its speed is the link's rate.
constexpr double kRounding = 1.004;

/// The links that channels are packed into. Rates are as NCCL counts them.
struct Links {
  std::int64_t ranks = 1;  ///< on a node
  double port = 0;         ///< all of a GPU's links to the others, one way
  double path = 0;         ///< the most that one channel finds between two GPUs
  bool leaves_node = false;
  std::int64_t nics = 0;
  double nic = 0;
};

double counted(GraphSearch::LinkRate const& link, BytesPerSecond rate) {
  return rate.count() * (link.counted / link.datasheet);
}

GraphSearch::LinkRate const& nvlink_rate(GraphSearch const& search, hardware::Gpu const& gpu) {
  auto const after = std::ranges::find_if_not(
      search.nvlink, [&](GraphSearch::LinkRate const& each) { return gpu.has_capability(each.from_capability); });
  return after == search.nvlink.begin() ? *after : *(after - 1);
}

BytesPerSecond socket_rate(GraphSearch const& search, hardware::CpuVendor cpu) {
  switch (cpu) {
    case hardware::CpuVendor::kIntel: return search.socket_intel;
    case hardware::CpuVendor::kAmd: return search.socket_amd;
    case hardware::CpuVendor::kOther: break;
  }
  return search.socket_other;
}

/// Whether `ranks` GPUs of a node reach each other without PCIe.
bool have_own_links(hardware::Node const& node, std::int64_t ranks, Environment const& environment) {
  if (environment.p2p_is_off || ranks < 2) return false;
  switch (node.intra) {
    case IntraNode::kNvSwitch:
    case IntraNode::kMesh:
    case IntraNode::kCubeMesh: return true;
    case IntraNode::kPairs: return ranks == 2;
    case IntraNode::kPcieP2p:
    case IntraNode::kPcieStaged:
    case IntraNode::kNone: break;
  }
  return false;
}

/// Links of a GPU's own: a group on a mesh has those among its members, and no channel is faster than one of them.
void find_own_links(hardware::Node const& node, GraphSearch const& search, Links& links) {
  auto const all = counted(nvlink_rate(search, node.gpu), node.gpu_link.value);
  links.port = links.path = all;
  if (node.intra == IntraNode::kMesh && node.gpus > 1) {
    links.path = all / static_cast<double>(node.gpus - 1);
    links.port = links.path * static_cast<double>(links.ranks - 1);
  } else if (node.intra == IntraNode::kCubeMesh) {
    // A GPU of a DGX-1 has six links: four to the others of its half, two to its mirror image.
    links.path = all / 6;
    links.port = all * std::min(1.0, static_cast<double>(links.ranks - 1) / 4);
  }
}

void find_pcie_links(Cluster const& cluster, GraphSearch const& search, Environment const& environment, Links& links) {
  auto const& node = cluster.node();
  links.port = counted(search.pcie, node.gpu.pcie.value_or(node.pcie).value);
  if (links.ranks > node.gpus_per_pcie_switch && node.host.cpu == hardware::CpuVendor::kIntel)
    links.port *= search.intel_pcie_share;
  if (node.intra == IntraNode::kPcieStaged || environment.p2p_is_off)
    links.port = std::min(links.port, socket_rate(search, node.host.cpu).count());
  links.path = links.port;
}

/// The NICs near the group's GPUs. Several of one GPU count as one of their summed rate: so plugins present them
/// (aws-ofi-nccl groups them by PCIe switch, NCCL fuses ports).
void find_nics(Placement const& placement, Cluster const& cluster, GraphSearch const& search, Links& links) {
  auto const& node = cluster.node();
  auto const plugged = cluster.nics();
  auto const each = static_cast<double>(std::max<std::int64_t>(1, plugged / node.gpus));
  links.nics = links.ranks == placement.ranks_per_node ? placement.nics(links.ranks) : std::min(links.ranks, plugged);
  links.nic = std::min(node.nic.value, cluster.fabric.port.value).count() * each;
  if (auto const& slot = node.gpu.pcie) links.nic = std::min(links.nic, counted(search.pcie, slot->value));
}

/// Channels of one speed that fit. A GPU passes every channel on over its links; between nodes it hands those that end
/// at it to its NIC, an equal part of them once there are as many channels as GPUs.
std::int64_t fitting(Links const& links, double speed) {
  auto inside = kMostSearched;
  if (links.ranks > 1 && links.path > 0) {
    // On a mesh a channel keeps to one link, so each link holds a whole number of them.
    auto const whole = std::floor(links.port * kRounding / links.path) * std::floor(links.path * kRounding / speed);
    auto const ranks = static_cast<double>(links.ranks);
    auto const spared = links.port * kRounding / speed * ranks / (ranks - 1);
    inside = static_cast<std::int64_t>(links.leaves_node && spared >= ranks ? spared : whole);
  }
  auto const outside =
      links.leaves_node ? links.nics * static_cast<std::int64_t>(links.nic * kRounding / speed) : kMostSearched;
  return std::min({inside, outside, kMostSearched});
}

/// The most that one channel could have.
double fastest(Links const& links) {
  return (links.leaves_node ? links.nic : links.path) * kRounding;
}

/// Speeds from the fastest one down to half of the best, until the channels fill the GPU's links.
Channels search_rings(Links const& links, Speeds speeds) {
  auto best = Channels{};
  auto filled = 0.0;
  for (auto const speed : speeds) {
    if (speed.count() > fastest(links)) continue;
    if (best.count > 0 && (filled >= links.port && links.ranks > 1)) break;
    if (best.count > 0 && speed / best.between_nodes <= 0.49) break;
    auto const count = fitting(links, speed.count());
    auto const fills = static_cast<double>(count) * speed.count();
    if (fills <= filled * kRounding) continue;
    filled = fills;
    best = {count, speed, speed};
  }
  if (best.count > 0) return best;
  auto const slow = BytesPerSecond{fastest(links)};  // below the lists
  return {1, slow, slow};
}

/// Two channels of half the speed keep a fast link busier than one (ncclTopoDupChannels).
Channels doubled(Channels channels, hardware::Gpu const& gpu) {
  constexpr auto kFast = BytesPerSecond{25e9};
  constexpr auto kFastFromHopper = BytesPerSecond{50e9};
  if (channels.within_nodes < kFast) return channels;
  if (gpu.has_capability(81) && channels.within_nodes < kFastFromHopper && channels.count > 4) return channels;
  auto const count = std::min(2 * channels.count, kMostSearched);
  auto const parts = static_cast<double>(divide_up(count, channels.count));
  return {count, channels.within_nodes / parts, channels.between_nodes / parts};
}

/// A tree has as many channels as the ring; inside nodes it may be faster, since it does not come back.
Channels search_trees(Links const& links, Speeds speeds, Channels const& ring) {
  auto tree = ring;
  if (links.ranks < 2) return tree;
  auto const share = static_cast<double>(links.ranks - 1) / static_cast<double>(links.ranks);
  for (auto speed = speeds.rbegin(); speed != speeds.rend(); ++speed) {
    if (*speed <= tree.within_nodes) continue;
    auto const fits = speed->count() <= links.path * kRounding &&
                      speed->count() * static_cast<double>(ring.count) * share <= links.port * kRounding;
    if (!fits || (links.leaves_node && tree.within_nodes >= ring.between_nodes * 2.0)) break;
    tree.within_nodes = *speed;
  }
  if (!links.leaves_node) tree.between_nodes = tree.within_nodes;
  return tree;
}

/// One channel for each head, which loads its own link twice and every other once. On one node every GPU is a head.
Channels search_multicast(Links const& links, Speeds speeds) {
  auto best = Channels{};
  auto const heads = heads_of(links.ranks);
  for (auto const speed : speeds) {
    if (speed.count() > fastest(links)) continue;
    auto const load = static_cast<std::int64_t>(links.port * kRounding / speed.count()) - 1;
    auto count = std::min(heads, load);
    if (links.leaves_node)
      count = std::min(count, links.nics * static_cast<std::int64_t>(links.nic * kRounding / speed.count()));
    else if (count < heads)
      continue;
    if (count < 1 || static_cast<double>(count) * speed.count() <=
                         static_cast<double>(best.count) * best.within_nodes.count() * kRounding)
      continue;
    best = {count, speed, speed};
  }
  // Then what leaves the heads may be faster, up to twice.
  for (auto speed = speeds.rbegin(); speed != speeds.rend() && best.count > 0; ++speed) {
    if (*speed <= best.between_nodes || best.between_nodes >= best.within_nodes * 2.0) continue;
    if (speed->count() <= fastest(links)) best.between_nodes = *speed;
  }
  return best;
}

std::int64_t communicator_channels(Graph const& graph, GraphSearch const& search, hardware::Gpu const& gpu,
                                   Environment const& environment) {
  constexpr auto kFast = BytesPerSecond{45e9};
  auto channels = std::min(2 * graph.ring.count, search.most_channels);
  if (gpu.has_capability(90) && graph.nodes > 1 && graph.ring.within_nodes > kFast && channels < 16)
    channels = std::min(2 * channels, search.most_channels);
  if (search.rings_grow_to_nvls_ctas) channels = std::max(channels, graph.nvls_ctas);
  if (environment.max_channels) channels = std::min(channels, *environment.max_channels);
  if (environment.min_channels)
    channels = std::max(channels, std::min(*environment.min_channels, search.most_channels));
  return channels;
}

/// Nodes as NCCL counts them: a rack is one, unless the user forbids it.
void count_nodes(Placement const& placement, Cluster const& cluster, Environment const& environment, Graph& graph) {
  graph.ranks = placement.ranks;
  graph.nodes = placement.nodes;
  graph.ranks_per_node = placement.ranks_per_node;
  auto const tray = cluster.node().gpus_on_host();
  if (environment.mnnvl != false || graph.ranks_per_node <= tray) return;
  graph.nodes *= divide_up(graph.ranks_per_node, tray);
  graph.ranks_per_node = tray;
}

}  // namespace

Graph find_graph(Placement const& placement, Cluster const& cluster, Environment const& environment) {
  auto const& search = cluster.library.tuning.search;
  auto const& node = cluster.node();
  auto const architecture = static_cast<std::size_t>(node.gpu.architecture());
  auto graph = Graph{};
  count_nodes(placement, cluster, environment, graph);
  if (graph.ranks < 2 || search.nvlink.empty()) return graph;

  auto links = Links{.ranks = graph.ranks_per_node, .leaves_node = graph.nodes > 1};
  auto const has_own_links = have_own_links(node, links.ranks, environment);
  if (has_own_links)
    find_own_links(node, search, links);
  else
    find_pcie_links(cluster, search, environment, links);
  if (links.leaves_node) find_nics(placement, cluster, search, links);
  graph.is_nvlink = has_own_links && node.link.is_nvlink;
  graph.has_multicast = graph.is_nvlink && node.intra == IntraNode::kNvSwitch && node.gpu.has_capability(90) &&
                        node.link.multicast_efficiency.value > 0;
  graph.has_network_reduction = environment.collnet == true && graph.nodes > 1;

  auto const& lists = search.speeds[architecture];
  auto const speeds = Speeds{links.leaves_node ? lists.between_nodes : lists.within_nodes};
  auto const searched = search_rings(links, speeds);
  graph.rings_are_alike = graph.nodes == 1 || searched.count == 1;  // rings over several NICs begin at different GPUs
  graph.ring = doubled(searched, node.gpu);
  graph.tree = search_trees(links, speeds, graph.ring);
  if (graph.has_multicast) {
    graph.nvls = search_multicast(links, speeds);
    auto const column = static_cast<std::size_t>(std::min<std::int64_t>(graph.nodes, 3) - 1);
    graph.nvls_ctas = search.nvls_ctas[architecture][column];
  }
  graph.channels = communicator_channels(graph, search, node.gpu, environment);
  return graph;
}

}  // namespace twinstep::collectives::tuner
