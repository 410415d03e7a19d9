#include "sim/topology/topology.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/topology/drawing.hpp"

namespace twinstep::topology {
namespace {

/// The route through host memory, which stands in it twice: written, then read.
Links staged(RouteTree const& from_source, RouteTree const& from_memory, VertexId memory, VertexId target) {
  auto links = from_source.to(memory);
  auto const rest = from_memory.to(target);
  links.insert(links.end(), rest.begin(), rest.end());
  return links;
}

}  // namespace

Topology::Topology(hardware::Cluster const& cluster) : gpus_per_node_{cluster.node.gpus} {
  TWINSTEP_CHECK(gpus_per_node_ >= 1 && cluster.nodes >= 1, "a cluster has a GPU");
  auto drawing = draw(cluster);
  nics_ = static_cast<std::int64_t>(drawing.nics.size());
  hbm_ = drawing.hbm;
  for (auto const& tier : cluster.fabric.levels) {
    nodes_below_.push_back(tier.nodes);
    hop_latency_.push_back(tier.hop_latency.value);
  }
  auto const memory = drawing.host_memory;
  auto const from_memory = drawing.graph.routes_from(memory);
  auto const from_leaf = drawing.nics.empty() ? RouteTree{} : drawing.graph.routes_from(drawing.leaf);
  auto const is_staged_inside = cluster.node.intra == hardware::IntraNode::kPcieStaged;
  auto const is_staged_outside = !cluster.fabric.transport.has_gpu_direct;

  for (auto gpu = std::size_t{0}; gpu < drawing.gpus.size(); ++gpu) {
    auto const from_gpu = drawing.graph.routes_from(drawing.gpus[gpu]);
    for (auto const peer : drawing.gpus)
      within_node_.push_back(is_staged_inside && peer != drawing.gpus[gpu] ? staged(from_gpu, from_memory, memory, peer)
                                                                           : from_gpu.to(peer));
    device_to_host_.push_back(from_gpu.to(memory));
    host_to_device_.push_back(from_memory.to(drawing.gpus[gpu]));
    if (drawing.nics.empty()) continue;
    auto const nic = drawing.nics[static_cast<std::size_t>(nic_of(static_cast<std::int64_t>(gpu)))];
    auto const from_nic = drawing.graph.routes_from(nic);
    auto out = is_staged_outside ? staged(from_gpu, from_memory, memory, nic) : from_gpu.to(nic);
    for (auto const link : from_nic.to(drawing.leaf)) out.push_back(link);
    auto in = from_leaf.to(nic);
    auto const rest =
        is_staged_outside ? staged(from_nic, from_memory, memory, drawing.gpus[gpu]) : from_nic.to(drawing.gpus[gpu]);
    in.insert(in.end(), rest.begin(), rest.end());
    out_of_node_.push_back(std::move(out));
    into_node_.push_back(std::move(in));
  }
  resources_ = std::move(drawing.resources);
  up_ = std::move(drawing.up);
  down_ = std::move(drawing.down);
}

std::int64_t Topology::instance(ResourceId id, std::int64_t node, std::int64_t gpu) const {
  auto const& resource = resources_[id.index()];
  return node / resource.nodes_below * resource.per_nodes + gpu * resource.per_nodes / gpus_per_node_;
}

Route Topology::within_node(std::int64_t from_gpu, std::int64_t to_gpu) const {
  return within_node_[static_cast<std::size_t>(from_gpu * gpus_per_node_ + to_gpu)];
}

Route Topology::out_of_node(std::int64_t gpu) const {
  TWINSTEP_CHECK(nics_ > 0, "only a node on a network can be left");
  return out_of_node_[static_cast<std::size_t>(gpu)];
}

Route Topology::into_node(std::int64_t gpu) const {
  TWINSTEP_CHECK(nics_ > 0, "only a node on a network can be entered");
  return into_node_[static_cast<std::size_t>(gpu)];
}

std::size_t Topology::meeting_level(std::int64_t node_a, std::int64_t node_b) const {
  if (node_a == node_b) return 0;
  auto level = std::size_t{1};
  while (level < levels() && node_a / nodes_below_[level - 1] != node_b / nodes_below_[level - 1]) ++level;
  return level;
}

ResourceId Topology::up(std::size_t level) const {
  TWINSTEP_CHECK(level >= 1 && level <= up_.size(), "only a tier below another has uplinks");
  return up_[level - 1];
}

ResourceId Topology::down(std::size_t level) const {
  TWINSTEP_CHECK(level >= 1 && level <= down_.size(), "only a tier below another has uplinks");
  return down_[level - 1];
}

Duration Topology::hop_latency(std::size_t level) const {
  TWINSTEP_CHECK(level >= 1, "nodes meet at a switch");
  auto total = Duration{};
  for (auto tier = std::size_t{0}; tier < std::min(level, levels()); ++tier)
    total += hop_latency_[tier] * (tier + 1 == level ? 1 : 2);
  return total;
}

}  // namespace twinstep::topology
