#pragma once

#include <cstdint>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// The axes along which `value` may differ.
[[nodiscard]] inline AxisSet axes_of(StepProgram const& program, RankValue value) {
  return value.varies() ? program.variations[value.variation.index()].axes : AxisSet{};
}

/// The lowest rank that plays `role`.
[[nodiscard]] inline RankId lowest_rank(StepProgram const& program, Role const& role) {
  auto rank = std::int64_t{0};
  for (auto const& at : role.where) rank += at.coordinate * program.mesh.stride(at.axis);
  return RankId{static_cast<std::size_t>(rank)};
}

/// Those of `axes` along which ranks of `role` can differ: not those that its `where` fixes.
[[nodiscard]] inline AxisSet free_axes(StepProgram const& program, Role const& role, AxisSet axes) {
  auto out = AxisSet{};
  for (auto const& [axis, size] : program.mesh.axes()) {
    auto is_fixed = size == 1;
    for (auto const& at : role.where) is_fixed = is_fixed || at.axis == axis;
    if (axes.contains(axis) && !is_fixed) out.insert(axis);
  }
  return out;
}

/// Calls `visit(rank)` for ranks of `role` that differ only along `axes`: every one of them, until a visit returns
/// false. The other coordinates are the lowest that the role has.
template <class Visit>
void for_each_rank(StepProgram const& program, Role const& role, AxisSet axes, Visit const& visit) {
  auto const free = free_axes(program, role, axes);
  auto const lowest = lowest_rank(program, role);
  auto const count = program.mesh.size(free);
  for (std::int64_t i = 0; i < count; ++i)
    if (!visit(program.mesh.rank_in_group(lowest, free, i))) return;
}

}  // namespace twinstep::program
