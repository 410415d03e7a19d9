#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/grid.hpp"

namespace twinstep::program {

using VariationId = Id<struct VariationTag>;

/// How a number differs between ranks: `stride * i + table[i]`, where i is the rank's place in its group
/// `along` axes of a grid. An empty table counts as zeros; otherwise it has one entry for each place.
struct Variation {
  GridAxes along;
  std::int64_t stride = 0;
  std::vector<std::int64_t> table;
  bool operator==(Variation const&) const = default;
};

/// An integer of a program that may differ between ranks: `base` on every rank, plus a variation if it has one.
struct RankValue {
  std::int64_t base = 0;
  VariationId variation;

  constexpr RankValue() = default;
  constexpr RankValue(std::int64_t same_on_every_rank) : base{same_on_every_rank} {}  // NOLINT: a plain number is one
  constexpr RankValue(std::int64_t base_value, VariationId by) : base{base_value}, variation{by} {}
  [[nodiscard]] constexpr bool varies() const { return variation.exists(); }
  bool operator==(RankValue const&) const = default;
};

}  // namespace twinstep::program
