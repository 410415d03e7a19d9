#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/ids.hpp"

namespace twinstep::program {

using GridId = Id<struct GridTag>;  ///< a grid of a program
using AxisId = Id<struct AxisTag>;  ///< an axis, counted within its grid

/// A set of axes of one grid.
class AxisSet {
 public:
  static constexpr std::size_t kMost = 32;  ///< axes of a grid

  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<AxisId> axes) {
    for (auto const axis : axes) insert(axis);
  }
  constexpr void insert(AxisId axis) { bits_ |= bit(axis); }
  [[nodiscard]] constexpr bool contains(AxisId axis) const { return (bits_ & bit(axis)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr AxisSet united_with(AxisSet other) const { return AxisSet{bits_ | other.bits_}; }
  [[nodiscard]] constexpr AxisSet shared_with(AxisSet other) const { return AxisSet{bits_ & other.bits_}; }
  [[nodiscard]] constexpr AxisSet without(AxisSet other) const { return AxisSet{bits_ & ~other.bits_}; }
  constexpr bool operator==(AxisSet const&) const = default;

 private:
  constexpr explicit AxisSet(std::uint32_t bits) : bits_{bits} {}
  static constexpr std::uint32_t bit(AxisId axis) { return std::uint32_t{1} << axis.index(); }
  std::uint32_t bits_ = 0;
};

/// A direction in which ranks divide the work of a step, and how many of them lie along it. Strategies name it.
struct GridAxis {
  std::string name;
  std::int64_t size = 1;
  bool operator==(GridAxis const&) const = default;
};

/// The ranks of a job as a grid. Ranks count up along the last axis first (row-major), so the last axis is the
/// one whose neighbours share a node.
class Grid {
 public:
  Grid() = default;
  /// Requires every size >= 1, no axis listed twice and at most AxisSet::kMost of them.
  explicit Grid(std::vector<GridAxis> axes, std::string name = "ranks");

  [[nodiscard]] std::string const& name() const { return name_; }
  [[nodiscard]] std::vector<GridAxis> const& axes() const { return axes_; }
  [[nodiscard]] std::int64_t world_size() const { return world_size_; }
  [[nodiscard]] std::int64_t size(AxisId axis) const { return axes_[axis.index()].size; }
  /// How many ranks a group along `axes` has: the product of their sizes.
  [[nodiscard]] std::int64_t size(AxisSet axes) const;
  /// How far apart in rank numbers two neighbours along `axis` are.
  [[nodiscard]] std::int64_t stride(AxisId axis) const { return strides_[axis.index()]; }
  [[nodiscard]] std::int64_t coordinate(RankId rank, AxisId axis) const {
    return static_cast<std::int64_t>(rank.index()) / stride(axis) % size(axis);
  }
  /// The place of `rank` in its group along `axes`, counted row-major from 0.
  [[nodiscard]] std::int64_t index_in_group(RankId rank, AxisSet axes) const;
  /// The rank at place `index` of the group along `axes` that `rank` belongs to.
  [[nodiscard]] RankId rank_in_group(RankId rank, AxisSet axes, std::int64_t index) const;

  /// The axis of this name; none if the grid has no such axis.
  [[nodiscard]] AxisId find(std::string_view name) const;
  /// The axes of these names. Requires that the grid has them.
  [[nodiscard]] AxisSet along(std::initializer_list<std::string_view> names) const;

  bool operator==(Grid const&) const = default;

 private:
  std::string name_ = "ranks";
  std::vector<GridAxis> axes_;
  std::vector<std::int64_t> strides_;  // by axis
  std::int64_t world_size_ = 1;
};

/// Axes of one grid of a program.
struct GridAxes {
  GridId grid{0};
  AxisSet axes;
  bool operator==(GridAxes const&) const = default;
};

/// The grids of a program: each numbers the same ranks. Where experts are folded over data and tensor ranks, say, the
/// experts' axes are those of a second grid.
class Grids {
 public:
  Grids() : Grids{std::vector<Grid>(1)} {}
  /// Requires one grid at least, all of one world size and no two of one name.
  explicit Grids(std::vector<Grid> grids);

  [[nodiscard]] std::vector<Grid> const& all() const { return grids_; }
  [[nodiscard]] Grid const& operator[](GridId id) const { return grids_[id.index()]; }
  [[nodiscard]] std::int64_t world_size() const { return grids_.front().world_size(); }
  [[nodiscard]] std::int64_t size(GridAxes along) const { return (*this)[along.grid].size(along.axes); }
  [[nodiscard]] std::int64_t index_in_group(RankId rank, GridAxes along) const {
    return (*this)[along.grid].index_in_group(rank, along.axes);
  }
  [[nodiscard]] RankId rank_in_group(RankId rank, GridAxes along, std::int64_t index) const {
    return (*this)[along.grid].rank_in_group(rank, along.axes, index);
  }
  /// The axes of these names in the first grid that has them all; nothing if none has.
  [[nodiscard]] std::optional<GridAxes> find(std::span<std::string_view const> names) const;

  /// What axes of different grids are compared on: the coarsest grid that cuts ranks wherever one of the grids does. An
  /// axis of any grid is a run of axes of this one. Grids of which that cannot be said (2 × 3 ranks beside 3 × 2) are
  /// not nested, and this one has a single axis, over all ranks.
  [[nodiscard]] Grid const& common() const { return common_; }
  [[nodiscard]] bool are_nested() const { return are_nested_; }
  /// The axes of the common grid along which the ranks of a group along `along` differ.
  [[nodiscard]] AxisSet common_axes(GridAxes along) const;

  bool operator==(Grids const& other) const { return grids_ == other.grids_; }

 private:
  std::vector<Grid> grids_;
  Grid common_;
  bool are_nested_ = true;
};

}  // namespace twinstep::program
