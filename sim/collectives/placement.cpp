#include "sim/collectives/placement.hpp"

#include <algorithm>

namespace twinstep::collectives {

Placement::Placement(Layout const& layout, hardware::Cluster const& cluster, topology::Topology const& topology)
    : ranks{layout.ranks},
      nodes{layout.nodes()},
      ranks_per_node{layout.most_ranks_per_node()},
      is_rail_optimised{cluster.fabric.is_rail_optimised && topology.nics() > 1},
      layout_{&layout},
      topology_{&topology},
      gpus_per_node_{cluster.node().gpus} {
  for (auto const& tier : cluster.fabric.levels) nodes_below_.push_back(tier.nodes);
  for (auto const& run : layout.runs)
    if (std::find(ranks_held_.begin(), ranks_held_.end(), run.ranks_per_node) == ranks_held_.end())
      ranks_held_.push_back(run.ranks_per_node);
  for (auto const held : ranks_held_) ring_shares_.push_back(find_ring_share(held));
  groups_sharing_.reserve(topology.resources().size());
  for (auto const& resource : topology.resources())
    groups_sharing_.push_back(static_cast<double>(groups_among(resource.gpus)));
  conditions_.push_back(0);
  for (auto const node : topology.faulty_nodes()) {
    auto const after = node - layout.first_node;
    if (after >= 0 && after % layout.node_stride == 0 && after / layout.node_stride < nodes)
      conditions_.push_back(topology.condition_of(node));
  }
}

double Placement::slowdown_of_tier(std::size_t level) const {
  auto const below = nodes_below_[level - 1];
  auto const last = layout_->first_node + (nodes - 1) * layout_->node_stride;
  return topology_->slowdown_of_tier(level, layout_->first_node / below, last / below);
}

std::int64_t Placement::gpu(std::int64_t i, std::int64_t held) const {
  // A node that the group enters part-way holds its first rank at first_gpu; full nodes begin at the first place
  // of the same progression.
  auto const stride = layout_->gpu_stride;
  auto const fits = layout_->first_gpu + (held - 1) * stride < gpus_per_node_;
  auto const first = fits ? layout_->first_gpu : layout_->first_gpu % stride;
  return std::min(first + i * stride, gpus_per_node_ - 1);
}

double Placement::ring_share(std::int64_t held) const {
  auto const known = std::ranges::find(ranks_held_, held);
  return ring_shares_[static_cast<std::size_t>(known - ranks_held_.begin())];
}

double Placement::find_ring_share(std::int64_t held) const {
  auto gpus = std::vector<std::int64_t>{};
  for (auto i = std::int64_t{0}; i < held; ++i) gpus.push_back(gpu(i, held));
  return topology_->ring_share(gpus);
}

std::int64_t Placement::nics(std::int64_t held) const {
  auto count = std::int64_t{0};
  auto previous = std::int64_t{-1};
  for (auto i = std::int64_t{0}; i < held; ++i) {
    auto const nic = topology_->nic_of(gpu(i, held));
    if (nic != previous) ++count;
    previous = nic;
  }
  return count;
}

std::int64_t Placement::pairs_in_nodes() const {
  auto pairs = std::int64_t{0};
  for (auto const& run : layout_->runs) pairs += run.nodes * run.ranks_per_node * (run.ranks_per_node - 1);
  return pairs;
}

std::vector<std::int64_t> Placement::held_by_node() const {
  auto held = std::vector<std::int64_t>{};
  for (auto const& run : layout_->runs)
    held.insert(held.end(), static_cast<std::size_t>(run.nodes), run.ranks_per_node);
  return held;
}

std::int64_t Placement::neighbours_in_nodes(std::int64_t distance) const {
  auto count = std::int64_t{0};
  for (auto const& run : layout_->runs) count += run.nodes * std::max<std::int64_t>(0, run.ranks_per_node - distance);
  return count;
}

std::int64_t Placement::groups_among(std::int64_t gpus) const {
  // Groups of p ranks, `stride` apart, fill a node in blocks of p * stride GPUs with `stride` groups each.
  if (gpus == 1) return 1;
  auto const stride = ranks_per_node == 1 ? gpus : layout_->gpu_stride;
  auto const among = gpus <= stride ? gpus : std::max(stride, gpus / ranks_per_node);
  return std::clamp<std::int64_t>(among, 1, layout_->groups_per_node);
}

std::int64_t Placement::groups_on_switch(std::size_t level) const {
  return is_rail(level) ? groups_among(gpus_per_node_ / topology_->nics()) : groups_per_node();
}

std::int64_t Placement::switch_groups(std::size_t level) const {
  auto const below = nodes_below_[level - 1];
  auto const first = layout_->first_node;
  auto const last = first + (nodes - 1) * layout_->node_stride;
  return std::min(nodes, last / below - first / below + 1);
}

std::int64_t Placement::nodes_per_switch_group(std::size_t level) const {
  return std::clamp<std::int64_t>(nodes_below_[level - 1] / layout_->node_stride, 1, nodes);
}

std::int64_t Placement::switch_group_of(std::size_t level, std::int64_t node) const {
  auto const below = nodes_below_[level - 1];
  return (layout_->first_node + node * layout_->node_stride) / below - layout_->first_node / below;
}

std::int64_t Placement::interleaved(std::size_t level) const {
  return std::min(layout_->node_stride, nodes_below_[level - 1]);
}

bool Placement::leaves(std::size_t level) const {
  return level < nodes_below_.size() && switch_groups(level) > 1;
}

std::size_t Placement::farthest_meeting() const {
  return topology_->meeting_level(layout_->first_node, layout_->first_node + (nodes - 1) * layout_->node_stride);
}

std::size_t Placement::meeting(std::int64_t apart) const {
  auto level = std::size_t{1};
  while (level < nodes_below_.size() && apart * layout_->node_stride >= nodes_below_[level - 1]) ++level;
  return level;
}

}  // namespace twinstep::collectives
