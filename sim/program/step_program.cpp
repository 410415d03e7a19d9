#include "sim/program/step_program.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace twinstep::program {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

}  // namespace

std::array<std::int64_t, 3> operand_elements(Gemm const& gemm) {
  auto out = std::array{gemm.m * gemm.k, gemm.k * gemm.n, gemm.m * gemm.n};
  for (auto& elements : out) elements *= gemm.batch;
  if (gemm.windows != Windows::kNone) out[static_cast<std::size_t>(gemm.windows) - 1] = gemm.window_elements;
  return out;
}

Flops flops_of(Work const& work) {
  return std::visit(
      Overloaded{[](Gemm const& g) {
                   return Flops{2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) *
                                static_cast<double>(g.batch)};
                 },
                 [](Attention const& a) {
                   auto const scores = static_cast<double>(a.batch * a.heads) * static_cast<double>(a.query_length) *
                                       static_cast<double>(a.key_length);
                   auto const computed = a.causal ? scores / 2 : scores;
                   return Flops{4.0 * computed * static_cast<double>(a.head_size) * (a.backward ? 2.5 : 1.0)};
                 },
                 [](auto const&) { return Flops{}; }},
      work);
}

std::int64_t StepProgram::evaluate(RankValue value, RankId rank) const {
  if (!value.varies()) return value.base;
  auto const& variation = variations[value.variation.index()];
  auto const index = grids.index_in_group(rank, variation.along);
  auto const entry = variation.table.empty() ? 0 : variation.table[static_cast<std::size_t>(index)];
  return value.base + variation.stride * index + entry;
}

bool StepProgram::plays(Role const& role, RankId rank) const {
  auto const& grid = grids[role.grid];
  return std::ranges::all_of(role.where,
                             [&](AxisCoordinate at) { return grid.coordinate(rank, at.axis) == at.coordinate; });
}

RoleId StepProgram::role_of(RankId rank) const {
  for (std::size_t i = 0; i < roles.size(); ++i)
    if (plays(roles[i], rank)) return RoleId{i};
  TWINSTEP_UNREACHABLE("every rank plays a role");
}

std::int64_t StepProgram::multiplicity(RoleId role) const {
  auto const& its = roles[role.index()];
  auto count = grids.world_size();
  for (auto const& at : its.where) count /= grids[its.grid].size(at.axis);
  return count;
}

std::string StepProgram::describe(Operation const& op) const {
  auto out = text(op.scope);
  if (!out.empty()) out += '/';
  return out.append(text(op.name));
}

WorkKind work_kind_of(Role const& role, Operation const& op) {
  if (op.is_on_host()) return WorkKind::kHost;
  return std::visit(
      Overloaded{[](Gemm const&) { return WorkKind::kGemm; }, [](Attention const&) { return WorkKind::kAttention; },
                 [](Elementwise const&) { return WorkKind::kElementwise; }, [](Copy const&) { return WorkKind::kCopy; },
                 [](Delay const&) { return WorkKind::kDelay; },
                 [&](Communication const& communication) {
                   auto const parts = role.parts_of(communication);
                   auto const is_message = [](CommunicationPart const& part) {
                     return std::holds_alternative<PointToPoint>(part);
                   };
                   if (std::ranges::all_of(parts, is_message)) return WorkKind::kPointToPoint;
                   return parts.size() == 1 ? work_kind(std::get<Collective>(parts.front()).kind) : WorkKind::kGroup;
                 }},
      op.work);
}

Bytes payload(StepProgram const& program, CommunicationPart const& part, RankId rank) {
  return std::visit([&](auto const& p) { return size_of(p.type) * program.evaluate(p.elements, rank); }, part);
}

}  // namespace twinstep::program
