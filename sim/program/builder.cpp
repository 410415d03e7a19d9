#include "sim/program/builder.hpp"

#include <iterator>
#include <utility>

#include "sim/base/check.hpp"

namespace twinstep::program {

StreamId RoleBuilder::stream(std::string_view name, bool is_on_host) {
  role_->streams.push_back({program_->name(name), is_on_host});
  pending_waits_.emplace_back();
  last_on_.emplace_back();
  return StreamId{role_->streams.size() - 1};
}

void RoleBuilder::enter(Scope const& scope) {
  scope_ = program_->scope(scope);
}

void RoleBuilder::reserve(std::size_t operations) {
  constexpr std::size_t kOperandsPerOperation = 5;
  role_->operations.reserve(operations);
  role_->accesses.reserve(kOperandsPerOperation * operations);
  role_->buffers.reserve(2 * operations);
}

BufferId RoleBuilder::buffer(Buffer buffer) {
  if (!buffer.scope.exists()) buffer.scope = scope_;
  role_->buffers.push_back(buffer);
  return BufferId{role_->buffers.size() - 1};
}

Region RoleBuilder::whole(BufferId buffer) const {
  return {buffer, 0, get(buffer).elements};
}

void RoleBuilder::wait(StreamId stream, OpId op) {
  TWINSTEP_CHECK(op.exists(), "a stream waits for an operation");
  if (role_->operations[op.index()].stream == stream) return;  // the stream's own order
  pending_waits_[stream.index()].push_back(op);
}

void RoleBuilder::follow(StreamId stream, StreamId other) {
  if (auto const last = last_on(other); last.exists()) wait(stream, last);
  for (auto const op : pending_waits_[other.index()]) wait(stream, op);
}

OpId RoleBuilder::append(Operation op, std::span<OpId const> waits, std::span<Access const> accesses) {
  auto const id = OpId{role_->operations.size()};
  op.scope = scope_;
  op.waits = {static_cast<std::uint32_t>(role_->waits.size()), static_cast<std::uint32_t>(waits.size())};
  op.accesses = {static_cast<std::uint32_t>(role_->accesses.size()), static_cast<std::uint32_t>(accesses.size())};
  role_->waits.insert(role_->waits.end(), waits.begin(), waits.end());
  role_->accesses.insert(role_->accesses.end(), accesses.begin(), accesses.end());
  for (auto const& access : accesses) {
    auto& buffer = role_->buffers[access.region.buffer.index()];
    if (!buffer.first_use.exists())
      buffer.first_use = id;
    else if (buffer.last_use != id && role_->operations[buffer.last_use.index()].stream != op.stream)
      buffer.crosses_streams = true;
    buffer.last_use = id;
  }
  if (op.stream.exists()) last_on_[op.stream.index()] = id;
  role_->operations.push_back(op);
  return id;
}

OpId RoleBuilder::add(StreamId stream, NameId name, Work const& work, std::span<Access const> accesses,
                      std::uint32_t launches) {
  auto& waits = pending_waits_[stream.index()];
  auto const id = append({.name = name, .stream = stream, .launches = launches, .work = work}, waits, accesses);
  waits.clear();
  return id;
}

OpId RoleBuilder::add(StreamId stream, NameId name, Collective const& collective, Region sent, Region received) {
  auto const part = CommunicationPart{collective};
  auto const accesses = std::initializer_list<Access>{reads(sent), writes(received)};
  return group(stream, name, std::span{&part, 1}, std::span{accesses.begin(), accesses.size()});
}

OpId RoleBuilder::group(StreamId stream, NameId name, std::span<CommunicationPart const> parts,
                        std::span<Access const> accesses) {
  auto const range =
      IndexRange{static_cast<std::uint32_t>(role_->parts.size()), static_cast<std::uint32_t>(parts.size())};
  role_->parts.insert(role_->parts.end(), parts.begin(), parts.end());
  return add(stream, name, Communication{range}, accesses);
}

OpId RoleBuilder::host(NameId name, std::span<OpId const> ops, Duration work) {
  return append({.name = name, .stream = {}, .launches = 0, .work = Delay{work}}, ops, {});
}

ProgramBuilder::ProgramBuilder(std::vector<Grid> grids) {
  program_.grids = Grids{std::move(grids)};
}

NameId ProgramBuilder::name(std::string_view text) {
  if (auto const known = ids_.find(text); known != ids_.end()) return known->second;
  auto const id = NameId{texts_.size()};
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

GridAxes ProgramBuilder::along(std::initializer_list<std::string_view> axes) const {
  auto const found = program_.grids.find(std::span{axes.begin(), axes.size()});
  TWINSTEP_CHECK(found.has_value(), "one of a program's grids has the axes that are asked for");
  return *found;
}

CommunicatorId ProgramBuilder::communicator(std::string_view name_text, GridAxes along) {
  program_.communicators.push_back({name(name_text), along});
  return CommunicatorId{program_.communicators.size() - 1};
}

VariationId ProgramBuilder::variation(Variation variation) {
  program_.variations.push_back(std::move(variation));
  return VariationId{program_.variations.size() - 1};
}

RoleBuilder& ProgramBuilder::role(std::string_view name_text, std::vector<Place> const& where) {
  auto& role = roles_.emplace_back();
  role.name = name(name_text);
  auto names = std::vector<std::string_view>{};
  for (auto const& at : where) names.push_back(at.axis);
  auto const found = program_.grids.find(names);
  TWINSTEP_CHECK(found.has_value(), "a role stands in one of the program's grids");
  role.grid = found->grid;
  for (auto const& [axis, coordinate] : where) role.where.push_back({program_.grids[role.grid].find(axis), coordinate});
  builders_.push_back(RoleBuilder{role, *this});
  return builders_.back();
}

StepProgram ProgramBuilder::finish() && {
  program_.names.assign(std::make_move_iterator(texts_.begin()), std::make_move_iterator(texts_.end()));
  program_.roles.assign(std::make_move_iterator(roles_.begin()), std::make_move_iterator(roles_.end()));
  return std::move(program_);
}

}  // namespace twinstep::program
