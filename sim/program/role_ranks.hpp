#pragma once

#include <cstdint>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// The axes of the common grid along which `value` may differ.
[[nodiscard]] inline AxisSet axes_of(StepProgram const& program, RankValue value) {
  return value.varies() ? program.grids.common_axes(program.variations[value.variation.index()].along) : AxisSet{};
}

/// The lowest rank that plays `role`.
[[nodiscard]] inline RankId lowest_rank(StepProgram const& program, Role const& role) {
  auto rank = std::int64_t{0};
  for (auto const& at : role.where) rank += at.coordinate * program.grids[role.grid].stride(at.axis);
  return RankId{static_cast<std::size_t>(rank)};
}

/// The axes of the common grid that the role's `where` fixes.
[[nodiscard]] inline AxisSet fixed_axes(StepProgram const& program, Role const& role) {
  auto named = AxisSet{};
  for (auto const& at : role.where) named.insert(at.axis);
  return program.grids.common_axes({role.grid, named});
}

/// Those of `axes`, of the common grid, along which ranks of `role` can differ: not those that its `where` fixes. Where
/// the program's grids are not nested, other roles' ranks lie along them too.
[[nodiscard]] inline AxisSet free_axes(StepProgram const& program, Role const& role, AxisSet axes) {
  return role.where.empty() || !program.grids.are_nested() ? axes : axes.without(fixed_axes(program, role));
}

/// Calls `visit(rank)` for ranks of `role` that differ only along `axes` of the common grid: every one of them, until a
/// visit returns false. The other coordinates are the lowest that the role has.
template <class Visit>
void for_each_rank(StepProgram const& program, Role const& role, AxisSet axes, Visit const& visit) {
  auto const free = free_axes(program, role, axes);
  auto const lowest = lowest_rank(program, role);
  auto const& grid = program.grids.common();
  auto const count = grid.size(free);
  for (std::int64_t i = 0; i < count; ++i) {
    auto const rank = grid.rank_in_group(lowest, free, i);
    if (program.plays(role, rank) && !visit(rank)) return;
  }
}

}  // namespace twinstep::program
