#pragma once

#include <deque>
#include <initializer_list>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

[[nodiscard]] inline Access reads(Region region) {
  return {region, AccessMode::kRead};
}
[[nodiscard]] inline Access writes(Region region) {
  return {region, AccessMode::kWrite};
}
[[nodiscard]] inline Access updates(Region region) {
  return {region, AccessMode::kReadWrite};
}

class ProgramBuilder;

/// Writes the program of one role, operation by operation, in the order in which the host issues them.
///
/// Streams are used as in CUDA: `wait(stream, op)` makes the next operation on `stream` wait for `op`. Everything
/// added lies in the current scope: a unit of the model, a pass over it and a micro-batch.
class RoleBuilder {
 public:
  [[nodiscard]] StreamId stream(std::string_view name, bool is_on_host = false);
  /// Makes room for so many operations and as many operands and buffers as they usually have.
  void reserve(std::size_t operations);
  /// Adds a buffer; its name and scope come from the arguments and the current scope.
  BufferId buffer(Buffer buffer);

  void enter(Scope const& scope);

  /// Everything added to `stream` from now on comes after `op`, whatever stream that is on.
  void wait(StreamId stream, OpId op);

  /// Everything added to `stream` from now on comes after all that `other` holds, and after what the next operation on
  /// `other` waits for.
  void follow(StreamId stream, StreamId other);

  OpId add(StreamId stream, NameId name, Work const& work, std::span<Access const> accesses,
           std::uint32_t launches = 1);
  OpId add(StreamId stream, NameId name, Work const& work, std::initializer_list<Access> accesses,
           std::uint32_t launches = 1) {
    return add(stream, name, work, std::span{accesses.begin(), accesses.size()}, launches);
  }
  /// One collective.
  OpId add(StreamId stream, NameId name, Collective const& collective, Region sent, Region received);
  /// Several communications as one operation. `accesses` are the operands of the parts, in their order.
  OpId group(StreamId stream, NameId name, std::span<CommunicationPart const> parts, std::span<Access const> accesses);
  /// The host waits until every one of `ops` has ended, then works for `work`.
  OpId host(NameId name, std::span<OpId const> ops, Duration work = {});

  /// The whole of a buffer.
  [[nodiscard]] Region whole(BufferId buffer) const;
  [[nodiscard]] Buffer const& get(BufferId buffer) const { return role_->buffers[buffer.index()]; }
  [[nodiscard]] OpId last_on(StreamId stream) const { return last_on_[stream.index()]; }

 private:
  friend class ProgramBuilder;
  explicit RoleBuilder(Role& role, ProgramBuilder& program) : role_{&role}, program_{&program} {}
  OpId append(Operation op, std::span<OpId const> waits, std::span<Access const> accesses);

  Role* role_;
  ProgramBuilder* program_;
  ScopeId scope_;
  std::vector<std::vector<OpId>> pending_waits_;  // by stream
  std::vector<OpId> last_on_;                     // by stream
};

/// Makes a StepProgram. The builder owns the program until `finish`.
class ProgramBuilder {
 public:
  /// Where on named axes of one grid ranks stand.
  struct Place {
    std::string_view axis;
    std::int64_t coordinate = 0;
  };

  explicit ProgramBuilder(Grid grid) : ProgramBuilder{std::vector{std::move(grid)}} {}
  explicit ProgramBuilder(std::vector<Grid> grids);

  /// The id of a text; the same text has one id.
  NameId name(std::string_view text);
  /// The axes of these names, of the first grid that has them all. Requires that one has.
  [[nodiscard]] GridAxes along(std::initializer_list<std::string_view> axes) const;
  /// The id of a scope; the same scope has one id, and one that says nothing has none.
  ScopeId scope(Scope const& scope) { return scope_ids_.id_of(scope, program_.scopes); }
  CommunicatorId communicator(std::string_view name, GridAxes along);
  CommunicatorId communicator(std::string_view name, std::initializer_list<std::string_view> axes) {
    return communicator(name, along(axes));
  }
  VariationId variation(Variation variation);
  /// The ranks at all these places, which name axes of the first grid that has them all; no place for every rank.
  RoleBuilder& role(std::string_view name, std::vector<Place> const& where = {});

  [[nodiscard]] Grids const& grids() const { return program_.grids; }
  StepFacts& facts() { return program_.facts; }
  AdamWSettings& adamw() { return program_.adamw; }

  [[nodiscard]] StepProgram finish() &&;

 private:
  StepProgram program_;
  std::deque<std::string> texts_;  // its names until finish, at stable addresses
  std::unordered_map<std::string_view, NameId> ids_;
  ScopeIds scope_ids_;
  std::list<Role> roles_;  // stable addresses until finish
  std::list<RoleBuilder> builders_;
};

}  // namespace twinstep::program
