#include "sim/program/projection.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/program/role_ranks.hpp"

namespace twinstep::program {
namespace {

/// What tells ranks of a program apart.
struct Differences {
  std::vector<bool> variations;  // by VariationId: used by a size or a peer
  AxisSet messages;              // axes of the common grid whose communicators carry point-to-point messages

  void use(RankValue value) {
    if (value.varies()) variations[value.variation.index()] = true;
  }
};

void add_part(StepProgram const& program, CommunicationPart const& part, Differences& out) {
  if (auto const* message = std::get_if<PointToPoint>(&part)) {
    out.use(message->elements);
    out.use(message->peer);
    out.messages =
        out.messages.united_with(program.grids.common_axes(program.communicators[message->communicator.index()].along));
  } else {
    out.use(std::get<Collective>(part).elements);
  }
}

Differences find_differences(StepProgram const& program) {
  auto out = Differences{std::vector<bool>(program.variations.size()), {}};
  for (auto const& role : program.roles) {
    for (auto const& buffer : role.buffers) out.use(buffer.elements);
    for (auto const& part : role.parts) add_part(program, part, out);
    for (auto const& op : role.operations) {
      if (auto const* elementwise = std::get_if<Elementwise>(&op.work)) out.use(elementwise->elements);
      if (auto const* copy = std::get_if<Copy>(&op.work)) out.use(copy->bytes);
    }
  }
  return out;
}

/// Refines classes of coordinates: two stay together when they were and `key` gives both the same. Classes are
/// numbered by their lowest coordinate.
template <class Key>
void refine(std::vector<std::uint32_t>& class_of, Key const& key) {
  using KeyType = std::invoke_result_t<Key, std::int64_t>;
  auto found = std::map<std::pair<std::uint32_t, KeyType>, std::uint32_t>{};
  for (std::size_t i = 0; i < class_of.size(); ++i) {
    auto const next = static_cast<std::uint32_t>(found.size());
    class_of[i] = found.try_emplace({class_of[i], key(static_cast<std::int64_t>(i))}, next).first->second;
  }
}

}  // namespace

Projection::Projection(StepProgram const& program, Merging merging) : grid_{program.grids.common()} {
  for (std::size_t i = 0; i < grid_.axes().size(); ++i) axes_.push_back({AxisId{i}, {}, {}, {}});
  auto const differences = find_differences(program);
  auto const is_split = merging == Merging::kNone || !program.grids.are_nested();
  for (auto& classes : axes_)
    if (is_split || differences.messages.contains(classes.axis)) split_fully(classes);
  if (!is_split) {
    for (auto const& role : program.roles) split(program, role);
    for (std::size_t i = 0; i < differences.variations.size(); ++i)
      if (differences.variations[i]) split(program, program.variations[i]);
  }
  make_cells(program);
  groups_.reserve(program.communicators.size());
  for (auto const& communicator : program.communicators) make_groups(program, communicator);
}

/// Along each axis that `where` names, the coordinate that it names is apart from the others.
void Projection::split(StepProgram const& program, Role const& role) {
  auto const lowest = lowest_rank(program, role);
  auto const fixed = fixed_axes(program, role);
  for (auto& classes : axes_) {
    if (!fixed.contains(classes.axis)) continue;
    classes.class_of.resize(static_cast<std::size_t>(grid_.size(classes.axis)));
    auto const at = grid_.coordinate(lowest, classes.axis);
    refine(classes.class_of, [&](std::int64_t i) { return i == at; });
  }
}

void Projection::split(StepProgram const& program, Variation const& variation) {
  if (variation.stride == 0 && variation.table.empty()) return;
  auto const axes = program.grids.common_axes(variation.along);
  auto const total = grid_.size(axes);
  TWINSTEP_CHECK(variation.table.empty() || std::ssize(variation.table) == total,
                 "a variation has one entry for each place");
  auto const value = [&](std::int64_t place) {
    return variation.stride * place + (variation.table.empty() ? 0 : variation.table[static_cast<std::size_t>(place)]);
  };
  // A place is (outer * size + coordinate) * inner + rest. Coordinates with equal values at all outer and rest are
  // alike.
  auto outer = std::int64_t{1};
  for (auto& classes : axes_) {
    if (!axes.contains(classes.axis)) continue;
    auto const size = grid_.size(classes.axis);
    auto const inner = total / outer / size;
    if (variation.table.empty()) {
      split_fully(classes);
    } else {
      classes.class_of.resize(static_cast<std::size_t>(size));
      refine(classes.class_of, [&](std::int64_t coordinate) {
        auto values = std::vector<std::int64_t>{};
        for (std::int64_t before = 0; before < outer; ++before)
          for (std::int64_t rest = 0; rest < inner; ++rest)
            values.push_back(value((before * size + coordinate) * inner + rest));
        return values;
      });
    }
    outer *= size;
  }
}

void Projection::split_fully(AxisClasses& classes) {
  classes.class_of.resize(static_cast<std::size_t>(grid_.size(classes.axis)));
  for (std::size_t i = 0; i < classes.class_of.size(); ++i) classes.class_of[i] = static_cast<std::uint32_t>(i);
}

void Projection::make_cells(StepProgram const& program) {
  auto count = std::size_t{1};
  auto replicas = grid_.world_size();
  std::erase_if(axes_, [](AxisClasses const& axis) {
    return std::ranges::all_of(axis.class_of, [](std::uint32_t c) { return c == 0; });
  });
  for (auto& axis : axes_) {
    for (std::size_t i = 0; i < axis.class_of.size(); ++i) {
      if (axis.class_of[i] == axis.first.size()) {
        axis.first.push_back(static_cast<std::int64_t>(i));
        axis.size.push_back(0);
      }
      ++axis.size[axis.class_of[i]];
    }
    count *= axis.first.size();
    replicas /= grid_.size(axis.axis);
  }
  cells_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto rank = std::int64_t{0};
    auto multiplicity = replicas;
    auto const classes = classes_of(i);
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      rank += axes_[a].first[classes[a]] * grid_.stride(axes_[a].axis);
      multiplicity *= axes_[a].size[classes[a]];
    }
    auto const representative = RankId{static_cast<std::size_t>(rank)};
    cells_[i] = {representative, program.role_of(representative), multiplicity};
  }
}

std::vector<std::size_t> Projection::classes_of(std::size_t cell) const {
  auto out = std::vector<std::size_t>(axes_.size());
  for (auto a = axes_.size(); a-- > 0;) {
    out[a] = cell % axes_[a].first.size();
    cell /= axes_[a].first.size();
  }
  return out;
}

void Projection::make_groups(StepProgram const& program, Communicator const& communicator) {
  auto const spanned = program.grids.common_axes(communicator.along);
  auto replicas = grid_.size(spanned);
  for (auto const& axis : axes_)
    if (spanned.contains(axis.axis)) replicas /= grid_.size(axis.axis);
  auto groups = Groups{std::vector<std::uint32_t>(size()), {}, std::vector<std::int64_t>(size(), replicas)};
  auto found = std::map<RankId, std::uint32_t>{};  // by the lowest rank of the group
  for (std::size_t i = 0; i < size(); ++i) {
    auto const classes = classes_of(i);
    for (std::size_t a = 0; a < axes_.size(); ++a)
      if (spanned.contains(axes_[a].axis)) groups.members_in_group[i] *= axes_[a].size[classes[a]];
    auto const lowest = program.grids.rank_in_group(cells_[i].representative, communicator.along, 0);
    auto const group = found.try_emplace(lowest, static_cast<std::uint32_t>(groups.members.size())).first->second;
    if (group == groups.members.size()) groups.members.emplace_back();
    groups.group_of[i] = group;
    groups.members[group].push_back(CellId{i});
  }
  groups_.push_back(std::move(groups));
}

CellId Projection::cell_of(RankId rank) const {
  auto cell = std::size_t{0};
  for (auto const& axis : axes_)
    cell = cell * axis.first.size() + axis.class_of[static_cast<std::size_t>(grid_.coordinate(rank, axis.axis))];
  return CellId{cell};
}

std::string Projection::describe(CellId cell) const {
  auto const others = multiplicity(cell) - 1;
  auto const rank = representative(cell).index();
  return others == 0 ? fmt::format("rank {}", rank) : fmt::format("rank {} (and {} alike)", rank, others);
}

std::span<CellId const> Projection::group(CommunicatorId communicator, CellId cell) const {
  auto const& groups = groups_[communicator.index()];
  return groups.members[groups.group_of[cell.index()]];
}

std::int64_t Projection::members_in_group(CommunicatorId communicator, CellId cell) const {
  return groups_[communicator.index()].members_in_group[cell.index()];
}

}  // namespace twinstep::program
