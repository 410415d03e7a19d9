#include "strategies/parts/flat_layout.hpp"

#include <numeric>
#include <utility>

namespace twinstep::strategies {

FlatLayout::FlatLayout(Parameters const& parameters, std::vector<std::vector<ParameterId>> groups, std::int64_t shards,
                       Alignment alignment)
    : parameters_{&parameters},
      group_of_(parameters.count()),
      offset_(parameters.count()),
      shards_{shards},
      pads_rows_{alignment.rows} {
  groups_.reserve(groups.size());
  for (auto& members : groups) {
    auto group = Group{.members = std::move(members), .begin = total_};
    for (auto const id : group.members) {
      group_of_[id.index()] = groups_.size();
      group.used = round_up(group.used, alignment.member);
      offset_[id.index()] = total_ + group.used;
      group.used += padded(id);
    }
    group.elements = round_up(group.used, std::lcm(shards, alignment.group));
    total_ += group.elements;
    groups_.push_back(std::move(group));
  }
}

std::int64_t FlatLayout::padded(ParameterId id) const {
  auto const& tensor = parameters_->tensor(id);
  return pads_rows_ ? round_up(tensor.rows, shards_) * tensor.columns : tensor.elements();
}

std::vector<std::vector<ParameterId>> bucketed(Parameters const& parameters, DataType gradient_type,
                                               BucketLimits limits) {
  return bucketed(parameters, parameters.ready_order(), gradient_type, limits);
}

std::vector<std::vector<ParameterId>> bucketed(Parameters const& parameters, std::span<ParameterId const> order,
                                               DataType gradient_type, BucketLimits limits) {
  auto buckets = std::vector<std::vector<ParameterId>>{};
  auto limit = limits.first;
  auto size = Bytes{};
  auto is_open = false;
  for (auto const id : order) {
    auto const is_alone = parameters.tensor(id).has_copy;
    if (!std::exchange(is_open, true) || is_alone) buckets.emplace_back();
    buckets.back().push_back(id);
    size += size_of(gradient_type) * parameters.elements(id);
    if (size < limit && !is_alone) continue;
    is_open = false;
    size = Bytes{};
    limit = limits.others;
  }
  return buckets;
}

std::vector<std::vector<ParameterId>> by_unit(Parameters const& parameters) {
  auto units = std::vector<std::vector<ParameterId>>{};
  for (std::size_t i = 0; i < parameters.count(); ++i) {
    auto const id = ParameterId{i};
    if (units.empty() || parameters.unit_of(units.back().back()) != parameters.unit_of(id)) units.emplace_back();
    units.back().push_back(id);
  }
  return units;
}

std::vector<std::vector<ParameterId>> one_by_one(Parameters const& parameters) {
  auto groups = std::vector<std::vector<ParameterId>>{};
  groups.reserve(parameters.count());
  for (auto const id : parameters.ready_order()) groups.push_back({id});
  return groups;
}

}  // namespace twinstep::strategies
