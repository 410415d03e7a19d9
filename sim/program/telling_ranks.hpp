#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/program/role_ranks.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// A place of a communicator that what is checked treats unlike the others: a root.
struct OddPlace {
  GridAxes along;
  std::int64_t place = 0;
};

/// Ranks of one role that tell about all of them.
///
/// Along an axis a value of a program is a straight line, but where the table of its variation bends it. What is equal
/// or not above on both ends of a straight piece is so on the whole of it; and what is one of two things on both ends
/// and beside the first. So a few ranks of each piece stand for the others, and checking does not cost more with more
/// replicas.
class TellingRanks {
 public:
  TellingRanks(StepProgram const& program, Role const& role) : program_{program}, role_{role} {}

  /// The lowest rank on which `is_right(rank)` is false; nothing where it holds on all. It compares `values`, sums of
  /// them and constants. Cost: a few calls for each axis along which they differ, and for each bend; where something is
  /// wrong, the ranks.
  template <class IsRight>
  [[nodiscard]] std::optional<RankId> first_wrong(std::span<RankValue const> values, IsRight const& is_right,
                                                  std::optional<OddPlace> const& odd = {});

  /// The same of any `is_right`, on every rank along `axes`.
  template <class IsRight>
  [[nodiscard]] std::optional<RankId> first_wrong_of_all(AxisSet axes, IsRight const& is_right) const;

 private:
  /// Coordinates to look at, ascending, by axis of the common grid.
  using Coordinates = std::map<AxisId, std::vector<std::int64_t>>;

  [[nodiscard]] std::vector<std::int64_t> coordinates(AxisId axis, std::span<RankValue const> values,
                                                      std::optional<OddPlace> const& odd);
  [[nodiscard]] Coordinates const& bends(VariationId variation);

  StepProgram const& program_;
  Role const& role_;
  std::map<VariationId, Coordinates> bends_;
};

template <class IsRight>
std::optional<RankId> TellingRanks::first_wrong_of_all(AxisSet axes, IsRight const& is_right) const {
  auto wrong = std::optional<RankId>{};
  for_each_rank(program_, role_, axes, [&](RankId rank) {
    if (!is_right(rank)) wrong = rank;
    return !wrong;
  });
  return wrong;
}

template <class IsRight>
std::optional<RankId> TellingRanks::first_wrong(std::span<RankValue const> values, IsRight const& is_right,
                                                std::optional<OddPlace> const& odd) {
  auto axes = odd ? program_.grids.common_axes(odd->along) : AxisSet{};
  for (auto const value : values) axes = axes.united_with(axes_of(program_, value));
  axes = free_axes(program_, role_, axes);
  if (axes.empty() || !program_.grids.are_nested()) return first_wrong_of_all(axes, is_right);
  auto ranks = std::vector{static_cast<std::int64_t>(lowest_rank(program_, role_).index())};
  for (std::size_t i = 0; i < program_.grids.common().axes().size(); ++i) {
    auto const axis = AxisId{i};
    if (!axes.contains(axis)) continue;
    auto const looked_at = coordinates(axis, values, odd);
    auto const before = std::move(ranks);
    ranks.clear();
    for (auto const rank : before)
      for (auto const at : looked_at) ranks.push_back(rank + at * program_.grids.common().stride(axis));
  }
  for (auto const rank : ranks)
    if (!is_right(RankId{static_cast<std::size_t>(rank)})) return first_wrong_of_all(axes, is_right);
  return std::nullopt;
}

}  // namespace twinstep::program
