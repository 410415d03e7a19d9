#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"

namespace twinstep::program {

/// The directions in which ranks can divide the work of a step.
enum class Axis : std::uint8_t { kPipeline, kReplicate, kData, kShard, kContext, kExpert, kTensor };

}  // namespace twinstep::program

template <>
struct twinstep::EnumNames<twinstep::program::Axis> {
  static constexpr std::array<std::string_view, 7> values{"pipeline", "replicate", "data",  "shard",
                                                          "context",  "expert",    "tensor"};
};

namespace twinstep::program {

/// A set of mesh axes.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (auto const axis : axes) insert(axis);
  }
  constexpr void insert(Axis axis) { bits_ = static_cast<std::uint8_t>(bits_ | bit(axis)); }
  [[nodiscard]] constexpr bool contains(Axis axis) const { return (bits_ & bit(axis)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr AxisSet united_with(AxisSet other) const {
    auto out = *this;
    out.bits_ = static_cast<std::uint8_t>(out.bits_ | other.bits_);
    return out;
  }
  constexpr bool operator==(AxisSet const&) const = default;

 private:
  static constexpr std::uint8_t bit(Axis axis) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(axis)); }
  std::uint8_t bits_ = 0;
};

/// One axis of the mesh and how many ranks lie along it.
struct MeshAxis {
  Axis axis{};
  std::int64_t size = 1;
  bool operator==(MeshAxis const&) const = default;
};

/// The ranks of a job as a grid. Ranks count up along the last axis first (row-major), so the last axis is the
/// one whose neighbours share a node. An axis that is not listed has size 1.
class Mesh {
 public:
  Mesh() = default;
  /// Requires every size >= 1 and no axis listed twice.
  explicit Mesh(std::vector<MeshAxis> axes);

  [[nodiscard]] std::vector<MeshAxis> const& axes() const { return axes_; }
  [[nodiscard]] std::int64_t world_size() const { return world_size_; }
  [[nodiscard]] std::int64_t size(Axis axis) const { return size_[static_cast<std::size_t>(axis)]; }
  /// How many ranks a group along `axes` has: the product of their sizes.
  [[nodiscard]] std::int64_t size(AxisSet axes) const;
  /// How far apart in rank numbers two neighbours along `axis` are.
  [[nodiscard]] std::int64_t stride(Axis axis) const { return stride_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] std::int64_t coordinate(RankId rank, Axis axis) const;
  /// The place of `rank` in its group along `axes`, counted row-major from 0.
  [[nodiscard]] std::int64_t index_in_group(RankId rank, AxisSet axes) const;
  /// The rank at place `index` of the group along `axes` that `rank` belongs to.
  [[nodiscard]] RankId rank_in_group(RankId rank, AxisSet axes, std::int64_t index) const;

  bool operator==(Mesh const& other) const { return axes_ == other.axes_; }

 private:
  static constexpr std::size_t kAxes = kEnumSize<Axis>;
  std::vector<MeshAxis> axes_;
  std::array<std::int64_t, kAxes> size_{1, 1, 1, 1, 1, 1, 1};
  std::array<std::int64_t, kAxes> stride_{1, 1, 1, 1, 1, 1, 1};
  std::int64_t world_size_ = 1;
};

}  // namespace twinstep::program
