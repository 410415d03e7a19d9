#include "sim/program/grid.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "sim/base/check.hpp"

namespace twinstep::program {

Grid::Grid(std::vector<GridAxis> axes, std::string name)
    : name_{std::move(name)}, axes_{std::move(axes)}, strides_(axes_.size()) {
  TWINSTEP_CHECK(axes_.size() <= AxisSet::kMost, "a grid has a few axes");
  for (auto i = axes_.size(); i-- > 0;) {
    TWINSTEP_CHECK(axes_[i].size >= 1, "an axis of a grid has at least one rank");
    TWINSTEP_CHECK(find(axes_[i].name) == AxisId{i}, "a grid lists each axis once");
    strides_[i] = world_size_;
    world_size_ *= axes_[i].size;
  }
}

std::int64_t Grid::size(AxisSet axes) const {
  auto product = std::int64_t{1};
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (axes.contains(AxisId{i})) product *= axes_[i].size;
  return product;
}

std::int64_t Grid::index_in_group(RankId rank, AxisSet axes) const {
  auto index = std::int64_t{0};
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (axes.contains(AxisId{i})) index = index * axes_[i].size + coordinate(rank, AxisId{i});
  return index;
}

RankId Grid::rank_in_group(RankId rank, AxisSet axes, std::int64_t index) const {
  TWINSTEP_CHECK(index >= 0 && index < size(axes), "a place in a group lies inside the group");
  auto out = static_cast<std::int64_t>(rank.index());
  for (auto i = axes_.size(); i-- > 0;) {
    if (!axes.contains(AxisId{i})) continue;
    out += (index % axes_[i].size - coordinate(rank, AxisId{i})) * strides_[i];
    index /= axes_[i].size;
  }
  return RankId{static_cast<std::size_t>(out)};
}

AxisId Grid::find(std::string_view name) const {
  auto const found = std::ranges::find(axes_, name, &GridAxis::name);
  return found == axes_.end() ? AxisId{} : AxisId{static_cast<std::size_t>(found - axes_.begin())};
}

AxisSet Grid::along(std::initializer_list<std::string_view> names) const {
  auto set = AxisSet{};
  for (auto const name : names) {
    auto const axis = find(name);
    TWINSTEP_CHECK(axis.exists(), "a grid has the axes that are asked for");
    set.insert(axis);
  }
  return set;
}

Grids::Grids(std::vector<Grid> grids) : grids_{std::move(grids)} {
  TWINSTEP_CHECK(!grids_.empty(), "a program has a grid");
  auto strides = std::set<std::int64_t, std::greater<>>{};  // between ranks that some axis tells apart
  for (auto const& grid : grids_) {
    TWINSTEP_CHECK(grid.world_size() == world_size(), "grids of a program are over the same ranks");
    TWINSTEP_CHECK(std::ranges::count(grids_, grid.name(), &Grid::name) == 1,
                   "grids of a program have different names");
    for (std::size_t i = 0; i < grid.axes().size(); ++i)
      if (grid.axes()[i].size > 1) strides.insert(grid.stride(AxisId{i}));
  }
  auto axes = std::vector<GridAxis>{};
  auto above = world_size();
  for (auto const stride : strides) {
    are_nested_ = are_nested_ && above % stride == 0;
    axes.push_back({std::to_string(stride), above / stride});
    above = stride;
  }
  common_ = are_nested_ ? Grid{std::move(axes), "common"} : Grid{{{"rank", world_size()}}, "common"};
}

std::optional<GridAxes> Grids::find(std::span<std::string_view const> names) const {
  for (std::size_t i = 0; i < grids_.size(); ++i) {
    auto const has = [&](std::string_view name) { return grids_[i].find(name).exists(); };
    if (!std::ranges::all_of(names, has)) continue;
    auto along = GridAxes{GridId{i}, {}};
    for (auto const name : names) along.axes.insert(grids_[i].find(name));
    return along;
  }
  return std::nullopt;
}

AxisSet Grids::common_axes(GridAxes along) const {
  auto const& grid = (*this)[along.grid];
  if (!are_nested_) return grid.size(along.axes) > 1 ? AxisSet{AxisId{0}} : AxisSet{};
  auto out = AxisSet{};
  for (std::size_t i = 0; i < grid.axes().size(); ++i) {
    if (!along.axes.contains(AxisId{i})) continue;
    auto const first = grid.stride(AxisId{i});
    for (std::size_t c = 0; c < common_.axes().size(); ++c)
      if (auto const stride = common_.stride(AxisId{c}); first <= stride && stride < first * grid.size(AxisId{i}))
        out.insert(AxisId{c});
  }
  return out;
}

}  // namespace twinstep::program
