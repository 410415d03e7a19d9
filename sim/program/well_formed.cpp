#include "sim/program/well_formed.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "sim/program/lifetimes.hpp"
#include "sim/program/role_ranks.hpp"

namespace twinstep::program {
namespace {

/// Checks that ids name something, with the words for saying that one does not.
class IdCheck {
 public:
  IdCheck(StepProgram const& program, std::vector<std::string>& defects) : program_{program}, defects_{defects} {}

  void run();

 private:
  /// An operation or a buffer of a role; put into words only where something is wrong.
  struct Place {
    Role const& role;
    OpId op;
    BufferId buffer;
  };

  void say(std::string text) { defects_.push_back(std::move(text)); }
  void say(Place const& place, std::string const& text) { say(words(place) + text); }
  [[nodiscard]] std::string words(Place const& place) const;
  bool are_axes(GridAxes along) const;
  bool name_is_missing(NameId name) const { return !name.exists() || name.index() >= program_.names.size(); }
  bool scope_is_missing(ScopeId scope) const { return scope.exists() && scope.index() >= program_.scopes.size(); }
  template <class IdType, class Table>
  void expect(IdType id, Table const& table, Place const& place, char const* what);
  void check(RankValue value, Place const& place) {
    if (value.varies()) expect(value.variation, program_.variations, place, "variation");
  }
  void check_variation(std::size_t index);
  void check_role(Role const& role);
  void check_place(Role const& role, std::string const& label);
  void check_buffer(Role const& role, BufferId id);
  void check_operation(Role const& role, OpId id);
  void check_operands(Operation const& op, Place const& place);
  void check_work(Operation const& op, Place const& place);

  StepProgram const& program_;
  std::vector<std::string>& defects_;
};

bool lies_inside(IndexRange range, std::size_t size) {
  return std::size_t{range.first} + range.count <= size;
}

template <class IdType, class Table>
void IdCheck::expect(IdType id, Table const& table, Place const& place, char const* what) {
  if (!id.exists())
    say(place, fmt::format("names no {}", what));
  else if (id.index() >= table.size())
    say(place, fmt::format("names {} {}, but there are {}", what, id.index(), table.size()));
}

std::string IdCheck::words(Place const& place) const {
  if (place.op.exists()) return place_of(program_, place.role, place.op);
  return fmt::format("role \"{}\", buffer {}: ", program_.text(place.role.name), place.buffer.index());
}

void IdCheck::run() {
  for (std::size_t i = 0; i < program_.scopes.size(); ++i) {
    auto const& scope = program_.scopes[i];
    if (scope == Scope{}) say(fmt::format("scope {} says nothing", i));
    if (scope.unit.exists() && name_is_missing(scope.unit))
      say(fmt::format("scope {} is of a unit that has no name", i));
  }
  if (!defects_.empty()) return;  // scopes are in the words of what follows
  for (std::size_t i = 0; i < program_.variations.size(); ++i) check_variation(i);
  for (std::size_t i = 0; i < program_.communicators.size(); ++i) {
    if (name_is_missing(program_.communicators[i].name)) say(fmt::format("communicator {} has no name", i));
    if (!are_axes(program_.communicators[i].along)) say(fmt::format("communicator {} names axes of no grid", i));
  }
  for (auto const& role : program_.roles) check_role(role);
}

bool IdCheck::are_axes(GridAxes along) const {
  if (along.grid.index() >= program_.grids.all().size()) return false;
  for (auto i = program_.grids[along.grid].axes().size(); i < AxisSet::kMost; ++i)
    if (along.axes.contains(AxisId{i})) return false;
  return true;
}

void IdCheck::check_variation(std::size_t index) {
  auto const& [along, stride, table] = program_.variations[index];
  if (!are_axes(along)) return say(fmt::format("variation {} names axes of no grid", index));
  auto const places = program_.grids.size(along);
  if (!table.empty() && std::ssize(table) != places)
    say(fmt::format("variation {} has a table of {} entries for {} places", index, table.size(), places));
}

void IdCheck::check_role(Role const& role) {
  auto const label = name_is_missing(role.name) ? std::string{"a role without a name"}
                                                : fmt::format("role \"{}\"", program_.text(role.name));
  if (name_is_missing(role.name)) return say(label);
  check_place(role, label);
  for (std::size_t i = 0; i < role.streams.size(); ++i)
    if (name_is_missing(role.streams[i].name)) say(fmt::format("{}: stream {} has no name", label, i));
  for (std::size_t i = 0; i < role.buffers.size(); ++i) check_buffer(role, BufferId{i});
  for (std::size_t i = 0; i < role.operations.size(); ++i) check_operation(role, OpId{i});
}

void IdCheck::check_place(Role const& role, std::string const& label) {
  if (role.grid.index() >= program_.grids.all().size()) return say(fmt::format("{}: stands in no grid", label));
  auto const& axes = program_.grids[role.grid].axes();
  auto seen = AxisSet{};
  for (auto const& [axis, coordinate] : role.where) {
    if (axis.index() >= axes.size()) return say(fmt::format("{}: stands along no axis of its grid", label));
    auto const& [name, size] = axes[axis.index()];
    if (coordinate < 0 || coordinate >= size)
      say(fmt::format("{}: stands at {} {}, but that axis has {} places", label, name, coordinate, size));
    if (seen.contains(axis)) say(fmt::format("{}: names its place along {} twice", label, name));
    seen.insert(axis);
  }
}

void IdCheck::check_buffer(Role const& role, BufferId id) {
  auto const& buffer = role.buffers[id.index()];
  auto const say_it = [&](char const* what) {
    say(fmt::format("role \"{}\": buffer {} {}", program_.text(role.name), id.index(), what));
  };
  if (name_is_missing(buffer.name)) say_it("has no name");
  if (scope_is_missing(buffer.scope)) say_it("has a scope that the program does not list");
  check(buffer.elements, {role, {}, id});
}

void IdCheck::check_operation(Role const& role, OpId id) {
  auto const& op = role.operations[id.index()];
  if (name_is_missing(op.name))
    return say(fmt::format("role \"{}\": op {} has no name", program_.text(role.name), id.index()));
  if (scope_is_missing(op.scope))
    return say(fmt::format("role \"{}\": op {} has a scope that the program does not list", program_.text(role.name),
                           id.index()));
  auto const place = Place{role, id, {}};
  if (op.stream.exists()) expect(op.stream, role.streams, place, "stream");
  if (!lies_inside(op.waits, role.waits.size()))
    say(place, "its waits run past the role's list of waits");
  else
    for (auto const wait : role.waits_of(op))
      if (!wait.exists() || wait.index() >= id.index())
        say(place, fmt::format("waits for op {}, which is not issued before it",
                               wait.exists() ? std::to_string(wait.index()) : "none"));
  if (!lies_inside(op.accesses, role.accesses.size()))
    say(place, "its operands run past the role's list of accesses");
  else
    check_operands(op, place);
  check_work(op, place);
}

void IdCheck::check_operands(Operation const& op, Place const& place) {
  for (auto const& access : place.role.accesses_of(op)) {
    expect(access.region.buffer, place.role.buffers, place, "buffer");
    check(access.region.offset, place);
    check(access.region.elements, place);
  }
}

void IdCheck::check_work(Operation const& op, Place const& place) {
  if (op.is_on_host() && !std::holds_alternative<Delay>(op.work)) say(place, "has no stream, but is not host work");
  if (auto const* elementwise = std::get_if<Elementwise>(&op.work)) check(elementwise->elements, place);
  if (auto const* copy = std::get_if<Copy>(&op.work)) check(copy->bytes, place);
  auto const* communication = std::get_if<Communication>(&op.work);
  if (communication == nullptr) return;
  if (!lies_inside(communication->parts, place.role.parts.size()))
    return say(place, "its parts run past the role's list");
  if (communication->parts.count == 0) say(place, "is a communication without parts");
  for (auto const& part : place.role.parts_of(*communication)) {
    std::visit(
        [&](auto const& p) {
          expect(p.communicator, program_.communicators, place, "communicator");
          check(p.elements, place);
        },
        part);
    if (auto const* collective = std::get_if<Collective>(&part)) check(collective->root, place);
    if (auto const* message = std::get_if<PointToPoint>(&part)) check(message->peer, place);
  }
}

/// Every rank plays exactly one role. Only the axes that roles fix need to be walked.
void find_cover_defects(StepProgram const& program, std::vector<std::string>& defects) {
  auto fixed = AxisSet{};
  for (auto const& role : program.roles) fixed = fixed.united_with(fixed_axes(program, role));
  auto const& grid = program.grids.common();
  for (std::int64_t i = 0; i < grid.size(fixed); ++i) {
    auto const rank = grid.rank_in_group(RankId{0}, fixed, i);
    auto players = std::vector<Role const*>{};
    for (auto const& role : program.roles)
      if (program.plays(role, rank)) players.push_back(&role);
    if (players.empty()) defects.push_back(fmt::format("rank {} plays no role", rank.index()));
    if (players.size() > 1)
      defects.push_back(fmt::format("rank {} plays {} roles, \"{}\" and \"{}\" among them", rank.index(),
                                    players.size(), program.text(players[0]->name), program.text(players[1]->name)));
  }
}

/// Nothing reads what was never written; lifetimes are those that the operations give.
void find_lifetime_defects(StepProgram const& program, Role const& role, std::vector<std::string>& defects) {
  auto is_written = std::vector<bool>(role.buffers.size());
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    auto const accesses = role.accesses_of(role.operations[i]);
    for (auto const& [region, mode] : accesses) {
      auto const& buffer = role.buffers[region.buffer.index()];
      auto const is_nothing = region.elements == RankValue{0};
      if (mode == AccessMode::kWrite || is_nothing || is_written[region.buffer.index()] || buffer.is_persistent)
        continue;
      defects.push_back(fmt::format("{}reads buffer \"{}\" before anything wrote it", place_of(program, role, OpId{i}),
                                    program.text(buffer.name)));
      is_written[region.buffer.index()] = true;  // said once
    }
    for (auto const& [region, mode] : accesses)
      if (mode != AccessMode::kRead) is_written[region.buffer.index()] = true;
  }
  auto const lifetimes = lifetimes_of(role);
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    auto const& buffer = role.buffers[i];
    if (lifetimes[i] != Lifetime{buffer.first_use, buffer.last_use, buffer.crosses_streams})
      defects.push_back(fmt::format("role \"{}\": buffer \"{}\" says another lifetime than its operations have",
                                    program.text(role.name), program.text(buffer.name)));
  }
}

}  // namespace

std::string place_of(StepProgram const& program, Role const& role, OpId op) {
  return fmt::format("role \"{}\", {} (op {}): ", program.text(role.name),
                     program.describe(role.operations[op.index()]), op.index());
}

std::vector<std::string> find_defects(StepProgram const& program) {
  auto defects = std::vector<std::string>{};
  IdCheck{program, defects}.run();
  if (!defects.empty()) return defects;
  find_cover_defects(program, defects);
  if (!defects.empty()) return defects;
  for (auto const& role : program.roles) {
    find_operand_defects(program, role, defects);
    find_lifetime_defects(program, role, defects);
  }
  return defects;
}

}  // namespace twinstep::program
