#include "sim/program/telling_ranks.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::program {
namespace {

/// Adds the ends of the pieces into which the coordinates `cuts` divide an axis, and what lies beside them.
void add_ends(std::vector<std::int64_t>& out, std::int64_t cut, std::int64_t size) {
  for (auto at = cut - 1; at <= cut + 2; ++at)
    if (at >= 0 && at < size) out.push_back(at);
}

}  // namespace

std::vector<std::int64_t> TellingRanks::coordinates(AxisId axis, std::span<RankValue const> values,
                                                    std::optional<OddPlace> const& odd) {
  auto const& grid = program_.grids.common();
  auto const size = grid.size(axis);
  auto out = std::vector<std::int64_t>{};
  add_ends(out, 0, size);
  out.push_back(size - 1);
  if (odd && program_.grids.common_axes(odd->along).contains(axis))
    add_ends(out, grid.coordinate(program_.grids.rank_in_group(RankId{0}, odd->along, odd->place), axis), size);
  for (auto const value : values) {
    if (!value.varies()) continue;
    auto const& bent = bends(value.variation);
    if (auto const found = bent.find(axis); found != bent.end())
      out.insert(out.end(), found->second.begin(), found->second.end());
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

/// Where a table bends along each of its axes. A place is (outer * size + coordinate) * inner + rest.
TellingRanks::Coordinates const& TellingRanks::bends(VariationId variation) {
  auto const [found, is_new] = bends_.try_emplace(variation);
  auto const& [along, stride, table] = program_.variations[variation.index()];
  if (!is_new || table.empty()) return found->second;
  auto const& grid = program_.grids.common();
  auto const axes = program_.grids.common_axes(along);
  auto inner = std::ssize(table);
  for (std::size_t a = 0; a < grid.axes().size(); ++a) {
    if (!axes.contains(AxisId{a})) continue;
    auto const size = grid.size(AxisId{a});
    inner /= size;
    auto is_bent = std::vector<bool>(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < std::ssize(table); ++i) {
      auto const at = i / inner % size;
      if (at == 0 || at == size - 1) continue;
      auto const entry = [&](std::int64_t place) { return table[static_cast<std::size_t>(place)]; };
      if (entry(i + inner) - entry(i) != entry(i) - entry(i - inner)) is_bent[static_cast<std::size_t>(at)] = true;
    }
    auto& at = found->second[AxisId{a}];
    for (std::int64_t i = 0; i < size; ++i)
      if (is_bent[static_cast<std::size_t>(i)]) add_ends(at, i, size);
  }
  return found->second;
}

}  // namespace twinstep::program
