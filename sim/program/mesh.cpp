#include "sim/program/mesh.hpp"

#include <ranges>
#include <utility>

#include "sim/base/check.hpp"

namespace twinstep::program {

Mesh::Mesh(std::vector<MeshAxis> axes) : axes_{std::move(axes)} {
  auto seen = AxisSet{};
  for (auto const& [axis, size] : axes_ | std::views::reverse) {
    TWINSTEP_CHECK(size >= 1, "a mesh axis has at least one rank");
    TWINSTEP_CHECK(!seen.contains(axis), "a mesh lists each axis once");
    seen.insert(axis);
    size_[static_cast<std::size_t>(axis)] = size;
    stride_[static_cast<std::size_t>(axis)] = world_size_;
    world_size_ *= size;
  }
}

std::int64_t Mesh::size(AxisSet axes) const {
  auto product = std::int64_t{1};
  for (auto const& [axis, size] : axes_)
    if (axes.contains(axis)) product *= size;
  return product;
}

std::int64_t Mesh::coordinate(RankId rank, Axis axis) const {
  return static_cast<std::int64_t>(rank.index()) / stride(axis) % size(axis);
}

std::int64_t Mesh::index_in_group(RankId rank, AxisSet axes) const {
  auto index = std::int64_t{0};
  for (auto const& [axis, size] : axes_)
    if (axes.contains(axis)) index = index * size + coordinate(rank, axis);
  return index;
}

RankId Mesh::rank_in_group(RankId rank, AxisSet axes, std::int64_t index) const {
  TWINSTEP_CHECK(index >= 0 && index < size(axes), "a place in a group lies inside the group");
  auto out = static_cast<std::int64_t>(rank.index());
  for (auto const& [axis, size] : axes_ | std::views::reverse) {
    if (!axes.contains(axis)) continue;
    out += (index % size - coordinate(rank, axis)) * stride(axis);
    index /= size;
  }
  return RankId{static_cast<std::size_t>(out)};
}

}  // namespace twinstep::program
