#include "explore/plan/gpu_counts.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"

namespace twinstep::explore::plan {
namespace {

/// The multiple of `divisor` that is nearest to `number`, from one of it on.
std::int64_t nearest_multiple(std::int64_t number, std::int64_t divisor) {
  auto const below = number / divisor;
  auto const is_nearer_below = number - below * divisor <= (below + 1) * divisor - number;
  return std::max<std::int64_t>(1, is_nearer_below ? below : below + 1) * divisor;
}

std::int64_t whole_nodes_from(std::int64_t gpus, std::int64_t gpus_per_node) {
  return (gpus + gpus_per_node - 1) / gpus_per_node * gpus_per_node;
}

}  // namespace

GpuCounts::GpuCounts(hardware::Cluster const& cluster, std::int64_t global_batch)
    : cluster_{cluster.name}, gpus_per_node_{cluster.node().gpus}, global_batch_{global_batch} {
  auto const most_nodes = std::max(cluster.fabric.capacity(), cluster.nodes());
  most_ = most_nodes * gpus_per_node_;
  for (std::int64_t gpus = gpus_per_node_; gpus <= std::min(most_, global_batch); gpus += gpus_per_node_)
    if (global_batch % gpus == 0) possible_.push_back(gpus);
}

AskedCounts GpuCounts::asked(std::vector<GpuRange> const& ranges) const {
  auto counts = AskedCounts{};
  for (auto const& [least, most] : ranges) {
    auto found = false;
    for (auto const gpus : possible_) {
      if (gpus < least || gpus > most) continue;
      found = true;
      if (std::ranges::find(counts.searched, gpus) == counts.searched.end()) counts.searched.push_back(gpus);
    }
    if (found) {
      add_others({least, most}, counts);
      continue;
    }
    auto const other = nearest_batch(least, most);
    auto const gpus = other ? other->gpus : least;
    if (std::ranges::find(counts.refused, gpus, &RefusedCount::gpus) == counts.refused.end())
      counts.refused.push_back({gpus, why_not(gpus)});
  }
  return counts;
}

std::optional<OtherBatch> GpuCounts::nearest_batch(std::int64_t least, std::int64_t most) const {
  auto nearest = std::optional<OtherBatch>{};
  auto const change = [&](OtherBatch const& other) { return std::abs(other.global_batch - global_batch_); };
  for (auto gpus = whole_nodes_from(least, gpus_per_node_); gpus <= std::min(most, most_); gpus += gpus_per_node_) {
    auto const other = OtherBatch{gpus, nearest_multiple(global_batch_, gpus)};
    if (global_batch_ % gpus != 0 && (!nearest || change(other) <= change(*nearest))) nearest = other;
  }
  return nearest;
}

/// Behind the last number that is searched the range's end is what was meant.
void GpuCounts::add_others(GpuRange const& range, AskedCounts& counts) const {
  auto const add = [&](std::int64_t least, std::int64_t most) {
    if (auto const other = nearest_batch(least, most)) counts.others.push_back(*other);
  };
  auto least = range.least;
  for (auto const gpus : possible_) {
    if (gpus < range.least || gpus > range.most) continue;
    add(least, gpus - 1);
    least = gpus + 1;
  }
  auto const end = std::min(range.most, most_) / gpus_per_node_ * gpus_per_node_;
  add(std::max(least, end), end);
}

std::string GpuCounts::why_not(std::int64_t gpus) const {
  using reports::whole_text;
  if (gpus > most_) return fmt::format("{} has {} at most{}", cluster_, whole_text(most_), nearest(gpus));
  if (gpus % gpus_per_node_ != 0) return fmt::format("not whole nodes of {} GPUs{}", gpus_per_node_, nearest(gpus));
  return fmt::format("a global batch of {} cannot be divided{}; --set training.global_batch={} can",
                     whole_text(global_batch_), nearest(gpus), nearest_multiple(global_batch_, gpus));
}

std::string GpuCounts::nearest(std::int64_t gpus) const {
  auto around = std::vector<std::string>{};
  auto const above = std::ranges::lower_bound(possible_, gpus);
  if (above != possible_.begin()) around.push_back(reports::whole_text(*(above - 1)));
  if (above != possible_.end()) around.push_back(reports::whole_text(*above));
  return around.empty() ? "" : fmt::format("; nearest that can: {}", fmt::join(around, " and "));
}

}  // namespace twinstep::explore::plan
