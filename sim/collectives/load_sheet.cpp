#include "sim/collectives/load_sheet.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace twinstep::collectives {

LoadSheet::LoadSheet(Placement const& placement, hardware::Cluster const& cluster, topology::Topology const& topology)
    : placement_{&placement},
      cluster_{&cluster},
      topology_{&topology},
      inside_(topology.resources().size()),
      outside_(topology.resources().size()) {}

void LoadSheet::add(std::vector<double>& sheet, topology::Route route, double bytes) {
  for (auto const link : route) sheet[link.index()] += bytes * placement_->groups_sharing(link);
}

void LoadSheet::add_tier(std::size_t level, double bytes) {
  outside_[topology_->up(level).index()] += bytes;
  outside_[topology_->down(level).index()] += bytes;
}

void LoadSheet::add_memory(double sent_bytes) {
  memory_ += sent_bytes * cluster_->library.memory_bytes_per_wire_byte.value;
}

void LoadSheet::take_larger(LoadSheet const& other) {
  for (auto i = std::size_t{0}; i < inside_.size(); ++i) {
    inside_[i] = std::max(inside_[i], other.inside_[i]);
    outside_[i] = std::max(outside_[i], other.outside_[i]);
  }
  memory_ = std::max(memory_, other.memory_);
}

std::vector<Load> LoadSheet::loads(Efficiency efficiency) const {
  auto const [inside, outside] = efficiency;
  auto out = std::vector<Load>{};
  for (auto i = std::size_t{0}; i < inside_.size(); ++i) {
    auto bytes = 0.0;
    if (inside_[i] > 0) {
      TWINSTEP_CHECK(inside > 0, "links inside a node reach some of their rate");
      bytes += inside_[i] / inside;
    }
    if (outside_[i] > 0) {
      TWINSTEP_CHECK(outside > 0, "links between nodes reach some of their rate");
      bytes += outside_[i] / outside;
    }
    if (i == topology_->hbm().index()) bytes += memory_;
    if (bytes > 0) out.push_back({ResourceId{i}, to_bytes(bytes)});
  }
  return out;
}

}  // namespace twinstep::collectives
