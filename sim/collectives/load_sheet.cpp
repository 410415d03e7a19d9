#include "sim/collectives/load_sheet.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace twinstep::collectives {

LoadSheet::LoadSheet(Placement const& placement, hardware::Cluster const& cluster, topology::Topology const& topology)
    : placement_{&placement}, cluster_{&cluster}, topology_{&topology} {
  auto const resources = topology.resources().size();
  for (auto const condition : placement.conditions())
    sheets_.push_back({condition, std::vector<double>(resources), std::vector<double>(resources)});
}

void LoadSheet::add(std::vector<double> Sheet::*part, topology::Route route, double bytes) {
  for (auto& sheet : sheets_)
    for (auto const link : topology_->under(route, sheet.condition))
      (sheet.*part)[link.index()] +=
          bytes * placement_->groups_sharing(link) * topology_->slowdown(link, sheet.condition);
}

void LoadSheet::add_neighbours(std::int64_t i, std::int64_t j, std::int64_t held, double bytes) {
  auto const link = topology_->ring_link(placement_->gpu(i, held), placement_->gpu(j, held));
  add_inside(link, bytes / placement_->ring_share(held));
}

void LoadSheet::add_tier(std::size_t level, double bytes) {
  auto const slowed = bytes * placement_->slowdown_of_tier(level);
  auto& outside = sheets_.front().outside;
  outside[topology_->up(level).index()] += slowed;
  outside[topology_->down(level).index()] += slowed;
}

void LoadSheet::add_tiers(double size, double (*share)(std::int64_t groups)) {
  auto const& at = *placement_;
  for (auto level = std::size_t{1}; at.leaves(level); ++level) {
    auto groups = static_cast<double>(at.groups_on_switch(level));
    if (at.is_rail(level)) groups /= static_cast<double>(at.nics(at.ranks_per_node));
    add_tier(level, share(at.switch_groups(level)) * size * groups * static_cast<double>(at.interleaved(level)));
  }
}

void LoadSheet::add_memory(double sent_bytes) {
  memory_ += sent_bytes * cluster_->library.memory_bytes_per_wire_byte.value;
}

void LoadSheet::take_larger(LoadSheet const& other) {
  for (auto s = std::size_t{0}; s < sheets_.size(); ++s)
    for (auto i = std::size_t{0}; i < sheets_[s].inside.size(); ++i) {
      sheets_[s].inside[i] = std::max(sheets_[s].inside[i], other.sheets_[s].inside[i]);
      sheets_[s].outside[i] = std::max(sheets_[s].outside[i], other.sheets_[s].outside[i]);
    }
  memory_ = std::max(memory_, other.memory_);
}

double LoadSheet::bytes(Sheet const& sheet, std::size_t resource, Efficiency efficiency) const {
  auto const [inside, outside] = efficiency;
  auto bytes = 0.0;
  if (sheet.inside[resource] > 0) {
    TWINSTEP_CHECK(inside > 0, "links inside a node reach some of their rate");
    bytes += sheet.inside[resource] / inside;
  }
  if (sheet.outside[resource] > 0) {
    TWINSTEP_CHECK(outside > 0, "links between nodes reach some of their rate");
    bytes += sheet.outside[resource] / outside;
  }
  if (resource == topology_->hbm().index()) bytes += memory_ * topology_->slowdown(topology_->hbm(), sheet.condition);
  return bytes;
}

std::vector<Load> LoadSheet::loads(Efficiency efficiency) const {
  auto out = std::vector<Load>{};
  for (auto i = std::size_t{0}; i < topology_->resources().size(); ++i) {
    auto most = 0.0;
    for (auto const& sheet : sheets_) most = std::max(most, bytes(sheet, i, efficiency));
    if (most > 0) out.push_back({ResourceId{i}, to_bytes(most)});
  }
  return out;
}

}  // namespace twinstep::collectives
