#include "sim/topology/topology.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/topology/drawing.hpp"

namespace twinstep::topology {
namespace {

constexpr auto kNothingBroken = [](std::string const&) { return false; };

/// SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014): every bit of the result depends on every bit given.
std::uint64_t mixed(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31);
}

}  // namespace

Topology::Topology(hardware::Cluster const& cluster) : gpus_per_node_{cluster.node().gpus}, faults_{cluster} {
  TWINSTEP_CHECK(cluster.groups.size() == 1, "one group of nodes today");
  TWINSTEP_CHECK(gpus_per_node_ >= 1 && cluster.nodes() >= 1, "a cluster has a GPU");
  for (auto const& tier : cluster.fabric.levels) {
    nodes_below_.push_back(tier.nodes);
    hop_latency_.push_back(tier.hop_latency.value);
    balancing_.push_back(tier.balancing);
  }
  if (faults_.any()) faults_.check(draw(cluster, kNothingBroken).resources);
  auto const is_broken = [&](std::string const& name) { return faults_.everywhere(name) == 0; };
  auto drawing = draw(cluster, is_broken);
  routes_.emplace_back(cluster, drawing, "every node");
  nics_ = static_cast<std::int64_t>(drawing.nics.size());
  hbm_ = drawing.hbm;
  host_memory_ = std::move(drawing.host_memory);
  drives_read_ = std::move(drawing.drives_read);
  drives_write_ = std::move(drawing.drives_write);
  mesh_ = std::move(drawing.mesh);

  faulty_nodes_ = faults_.nodes(drawing.resources);
  for (auto const node : faulty_nodes_) {
    auto const is_broken_here = [&](std::string const& name) { return is_broken(name) || faults_.at(name, node) == 0; };
    routes_.emplace_back(cluster, draw(cluster, is_broken_here), fmt::format("node {}", node));
    auto& slower = slowdown_.emplace_back();
    for (auto const& resource : drawing.resources) {
      auto const left = resource.nodes_below == 1 ? faults_.at(resource.name, node) : 1.0;
      slower.push_back(left > 0 ? 1 / left : 1.0);
    }
  }

  resources_ = std::move(drawing.resources);
  for (auto& resource : resources_)
    if (auto const left = faults_.everywhere(resource.name); left > 0) resource.bandwidth = resource.bandwidth * left;
  up_ = std::move(drawing.up);
  down_ = std::move(drawing.down);
}

std::int64_t Topology::nic_of(std::int64_t gpu) const {
  return routes().nic_of(gpu);
}

std::int64_t Topology::instance(ResourceId id, std::int64_t node, std::int64_t gpu) const {
  auto const& resource = resources_[id.index()];
  return node / resource.nodes_below * resource.per_nodes + gpu * resource.per_nodes / gpus_per_node_;
}

BytesPerSecond Topology::bandwidth_of(ResourceId id, std::int64_t instance) const {
  auto const& resource = resources_[id.index()];
  auto const left = faults_.at(resource.name, instance / resource.per_nodes);
  return left > 0 ? resource.bandwidth * left : resource.bandwidth;
}

Route Topology::route(std::size_t place) const {
  return {routes().at(place), place};
}

Route Topology::within_node(std::int64_t from_gpu, std::int64_t to_gpu) const {
  return route(routes().within(from_gpu, to_gpu));
}

Route Topology::ring_link(std::int64_t from_gpu, std::int64_t to_gpu) const {
  return route(routes().ring(from_gpu, to_gpu));
}

double Topology::ring_share(std::span<std::int64_t const> gpus) const {
  if (mesh_.empty()) return 1;
  auto least = std::numeric_limits<double>::infinity();
  for (auto const from : gpus) {
    auto to_members = 0.0;
    auto widest = 0.0;  // to anyone: for members that reach no other one straight
    for (auto to = std::int64_t{0}; to < gpus_per_node_; ++to) {
      auto const width = mesh_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      widest = std::max(widest, width);
      if (std::ranges::find(gpus, to) != gpus.end()) to_members += width;
    }
    least = std::min(least, to_members > 0 ? to_members : widest);
  }
  return least;
}

Route Topology::out_of_node(std::int64_t gpu) const {
  TWINSTEP_CHECK(nics_ > 0, "only a node on a network can be left");
  return route(routes().out(gpu));
}

Route Topology::into_node(std::int64_t gpu) const {
  TWINSTEP_CHECK(nics_ > 0, "only a node on a network can be entered");
  return route(routes().in(gpu));
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

std::optional<std::int64_t> Topology::uplink(std::size_t level, std::int64_t from_nic, std::int64_t to_nic,
                                             std::int64_t flow) const {
  auto const links = resource(up(level)).links;
  if (links == 1 || balancing_[level - 1] == hardware::Balancing::kEven) return std::nullopt;
  auto hash = mixed(static_cast<std::uint64_t>(from_nic));
  hash = mixed(hash ^ static_cast<std::uint64_t>(to_nic));
  hash = mixed(hash ^ static_cast<std::uint64_t>(flow));
  return static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(links));
}

Route Topology::host_to_device(std::int64_t gpu) const {
  return route(routes().from_host(gpu));
}

Route Topology::device_to_host(std::int64_t gpu) const {
  return route(routes().to_host(gpu));
}

std::size_t Topology::condition_of(std::int64_t node) const {
  auto const found = std::ranges::lower_bound(faulty_nodes_, node);
  if (found == faulty_nodes_.end() || *found != node) return 0;
  return static_cast<std::size_t>(found - faulty_nodes_.begin()) + 1;
}

Route Topology::under(Route route, std::size_t condition) const {
  if (!route.place() || condition == 0) return route;
  return {routes(condition).at(*route.place()), *route.place()};
}

double Topology::slowdown(ResourceId resource, std::size_t condition) const {
  return condition == 0 ? 1 : slowdown_[condition - 1][resource.index()];
}

double Topology::slowdown_of_tier(std::size_t level, std::int64_t first, std::int64_t last) const {
  auto slowest = 1.0;
  for (auto group = first; group <= last && faults_.any(); ++group)
    for (auto const link : {up(level), down(level)})
      slowest = std::max(slowest, 1 / faults_.at(resource(link).name, group));
  return slowest;
}

}  // namespace twinstep::topology
