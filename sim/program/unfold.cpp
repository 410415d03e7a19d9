#include "sim/program/unfold.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace twinstep::program {
namespace {

/// Entries of one of a program's lists: those of the micro-batch that stands for others lie from `first` on.
struct Stretch {
  std::size_t first = 0;
  std::size_t count = 0;
  [[nodiscard]] std::size_t end() const { return first + count; }
};

/// Writes the micro-batches of one role again and again.
///
/// Ids of what belongs to a micro-batch grow by as many entries as it has. So an id in the `copy`-th copy is that of
/// the written micro-batch, plus `copy` times what that has more than the micro-batch before: nothing, where both name
/// the same old thing. Of two old buffers that are used in turn each copy names the one whose turn it is.
class RoleUnfolder {
 public:
  RoleUnfolder(StepProgram const& program, Role const& from, Stretch scopes, std::int64_t copies)
      : program_{program}, from_{from}, scopes_{scopes}, copies_{static_cast<std::size_t>(copies)} {
    auto const ranges = micro_batches_of(program, from);
    auto const written = std::ranges::find(ranges, program.repeat->micro_batch, &MicroBatchRange::micro_batch);
    TWINSTEP_CHECK(written != ranges.begin() && written != ranges.end() && written + 1 != ranges.end(),
                   "a micro-batch that stands for others lies between others");
    operations_ = {written->operations, (written + 1)->operations - written->operations};
    buffers_ = {written->buffers, (written + 1)->buffers - written->buffers};
    TWINSTEP_CHECK(operations_.first - (written - 1)->operations == operations_.count,
                   "a micro-batch that stands for others is like the one before");
  }

  Role unfold() {
    copy_facts();
    add_buffers();
    for (std::size_t i = 0; i < operations_.end(); ++i) add(i, 0);
    for (std::size_t copy = 1; copy <= copies_; ++copy)
      for (auto i = operations_.first; i < operations_.end(); ++i) add(i, copy);
    for (auto i = operations_.end(); i < from_.operations.size(); ++i) add_behind(i);
    return std::move(to_);
  }

 private:
  void copy_facts() {
    to_.name = from_.name;
    to_.grid = from_.grid;
    to_.where = from_.where;
    to_.streams = from_.streams;
    to_.operations.reserve(from_.operations.size() + copies_ * operations_.count);
  }

  void add_buffers() {
    auto const add = [this](std::size_t i, std::size_t copy) {
      auto& buffer = to_.buffers.emplace_back(from_.buffers[i]);
      buffer.scope = scope(buffer.scope, i < buffers_.end() ? copy : copies_);
      buffer.first_use = buffer.last_use = {};
      buffer.crosses_streams = false;
    };
    to_.buffers.reserve(from_.buffers.size() + copies_ * buffers_.count);
    for (std::size_t i = 0; i < buffers_.end(); ++i) add(i, 0);
    for (std::size_t copy = 1; copy <= copies_; ++copy)
      for (auto i = buffers_.first; i < buffers_.end(); ++i) add(i, copy);
    for (auto i = buffers_.end(); i < from_.buffers.size(); ++i) add(i, copies_);
  }

  /// What is of the micro-batch itself moves on with its copies; what lies behind it lies behind all of them.
  [[nodiscard]] ScopeId scope(ScopeId id, std::size_t copy) const {
    if (!id.exists() || id.index() < scopes_.first) return id;
    return ScopeId{id.index() + copy * scopes_.count};
  }

  /// The operation as the `copy`-th of the micro-batches has it; before them, where there is but one, none.
  void add(std::size_t i, std::size_t copy) {
    auto const& op = from_.operations[i];
    auto const& before = from_.operations[copy == 0 ? i : i - operations_.count];
    TWINSTEP_CHECK(op.waits.count == before.waits.count && op.accesses.count == before.accesses.count,
                   "a micro-batch that stands for others is like the one before");
    auto const moved = [copy](std::size_t id, std::size_t id_before) { return id + copy * (id - id_before); };
    append(
        op, scope(op.scope, copy),
        [&](std::size_t w) { return OpId{moved(from_.waits_of(op)[w].index(), from_.waits_of(before)[w].index())}; },
        [&](std::size_t a) {
          auto const id = from_.accesses_of(op)[a].region.buffer;
          auto const id_before = from_.accesses_of(before)[a].region.buffer;
          if (id != id_before && id.index() < buffers_.first) return copy % 2 == 0 ? id : id_before;
          return BufferId{moved(id.index(), id_before.index())};
        });
  }

  /// An operation behind the micro-batches, which finds the last one where it names the written one. In the micro-batch
  /// that follows, what the written one names too is older than all of them, and the rest lies as far back as there.
  void add_behind(std::size_t i) {
    auto const& op = from_.operations[i];
    auto const* const like =
        i < operations_.end() + operations_.count ? &from_.operations[i - operations_.count] : nullptr;
    append(
        op, scope(op.scope, copies_),
        [&](std::size_t w) {
          auto const id = from_.waits_of(op)[w].index();
          auto const is_old = like != nullptr && w < like->waits.count ? from_.waits_of(*like)[w].index() == id
                                                                       : id < operations_.first;
          return OpId{id + (is_old ? 0 : copies_ * operations_.count)};
        },
        [&](std::size_t a) {
          auto const id = from_.accesses_of(op)[a].region.buffer.index();
          return BufferId{id + (id < buffers_.first ? 0 : copies_ * buffers_.count)};
        });
  }

  template <class WaitOf, class BufferOf>
  void append(Operation op, ScopeId scope, WaitOf const& wait_of, BufferOf const& buffer_of) {
    auto const id = OpId{to_.operations.size()};
    auto const accesses = from_.accesses_of(op);
    op.scope = scope;
    op.waits.first = static_cast<std::uint32_t>(to_.waits.size());
    for (std::size_t w = 0; w < op.waits.count; ++w) to_.waits.push_back(wait_of(w));
    op.accesses.first = static_cast<std::uint32_t>(to_.accesses.size());
    for (std::size_t a = 0; a < op.accesses.count; ++a) {
      auto& access = to_.accesses.emplace_back(accesses[a]);
      access.region.buffer = buffer_of(a);
      TWINSTEP_CHECK(access.region.buffer.index() < to_.buffers.size(), "a micro-batch names what is there");
      touch(to_.buffers[access.region.buffer.index()], id, op.stream);
    }
    if (auto* const communication = std::get_if<Communication>(&op.work)) {
      auto const parts = from_.parts_of(*communication);
      communication->parts.first = static_cast<std::uint32_t>(to_.parts.size());
      to_.parts.insert(to_.parts.end(), parts.begin(), parts.end());
    }
    to_.operations.push_back(op);
  }

  /// As in RoleBuilder.
  void touch(Buffer& buffer, OpId op, StreamId stream) const {
    if (!buffer.first_use.exists())
      buffer.first_use = op;
    else if (buffer.last_use != op && to_.operations[buffer.last_use.index()].stream != stream)
      buffer.crosses_streams = true;
    buffer.last_use = op;
  }

  StepProgram const& program_;
  Role const& from_;
  Stretch scopes_;
  Stretch operations_;
  Stretch buffers_;
  std::size_t copies_;
  Role to_;
};

/// Scopes come in the order in which they are first entered, so those of a micro-batch lie together.
Stretch scopes_of(StepProgram const& program) {
  auto const is_repeated = [&](Scope const& scope) { return scope.micro_batch == program.repeat->micro_batch; };
  auto const first = std::ranges::find_if(program.scopes, is_repeated);
  auto const end = std::ranges::find_if_not(first, program.scopes.end(), is_repeated);
  TWINSTEP_CHECK(std::none_of(end, program.scopes.end(), is_repeated), "the scopes of a micro-batch lie together");
  return {static_cast<std::size_t>(first - program.scopes.begin()), static_cast<std::size_t>(end - first)};
}

}  // namespace

std::vector<MicroBatchRange> micro_batches_of(StepProgram const& program, Role const& role) {
  auto ranges = std::vector<MicroBatchRange>{};
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    auto const micro_batch = program.micro_batch_of(role.operations[i].scope);
    if (micro_batch == Scope::kNoMicroBatch || (!ranges.empty() && micro_batch <= ranges.back().micro_batch)) continue;
    ranges.push_back({micro_batch, i, 0});
  }
  auto buffer = std::size_t{0};
  for (auto& range : ranges) {
    auto const is_before = [&](Buffer const& each) { return program.micro_batch_of(each.scope) < range.micro_batch; };
    while (buffer < role.buffers.size() && is_before(role.buffers[buffer])) ++buffer;
    range.buffers = buffer;
  }
  return ranges;
}

StepProgram unfold(StepProgram const& program, std::int64_t count) {
  TWINSTEP_CHECK(program.repeat.has_value(), "only a folded program unfolds");
  auto const copies = std::min(count, program.repeat->times);
  auto const scopes = scopes_of(program);
  auto out = StepProgram{
      .grids = program.grids,
      .names = program.names,
      .scopes = {program.scopes.begin(), program.scopes.begin() + static_cast<std::ptrdiff_t>(scopes.end())},
      .variations = program.variations,
      .communicators = program.communicators,
      .roles = {},
      .repeat = program.repeat,
      .adamw = program.adamw,
      .facts = program.facts};
  for (std::int32_t copy = 1; copy <= copies; ++copy)
    for (auto i = scopes.first; i < scopes.end(); ++i) {
      auto const& scope = program.scopes[i];
      out.scopes.push_back({scope.unit, scope.pass, scope.micro_batch + copy});
    }
  out.scopes.insert(out.scopes.end(), program.scopes.begin() + static_cast<std::ptrdiff_t>(scopes.end()),
                    program.scopes.end());
  for (auto const& role : program.roles) out.roles.push_back(RoleUnfolder{program, role, scopes, copies}.unfold());
  out.repeat->micro_batch += static_cast<std::int32_t>(copies);
  out.repeat->times -= copies;
  if (out.repeat->times == 0) out.repeat.reset();
  return out;
}

StepProgram unfold(StepProgram program) {
  if (!program.repeat) return program;
  return unfold(program, program.repeat->times);
}

}  // namespace twinstep::program
