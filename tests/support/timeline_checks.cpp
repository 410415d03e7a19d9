#include "tests/support/timeline_checks.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace twinstep::tests {
namespace {

using program::Role;
using program::StepProgram;
using timeline::Span;
using timeline::Timeline;

class Checks {
 public:
  Checks(StepProgram const& program, Timeline const& timeline) : program_{program}, timeline_{timeline} {}

  std::vector<std::string> run() && {
    if (!find_tracks()) return std::move(violations_);  // the rest needs spans in their places
    for (std::size_t track = 0; track < timeline_.tracks.size(); ++track) {
      check_times(track);
      check_issue(track);
      check_streams(track);
      check_communicators(track);
      check_bytes(track);
      check_memory(track);
    }
    check_meetings();
    check_step_time();
    return std::move(violations_);
  }

 private:
  template <class... Arguments>
  void expect(bool holds, fmt::format_string<Arguments...> sentence, Arguments&&... arguments) {
    if (!holds) violations_.push_back(fmt::format(sentence, std::forward<Arguments>(arguments)...));
  }

  /// Finds each track's role and spans. Returns whether all are there.
  bool find_tracks() {
    auto ranks = std::vector<std::int64_t>(program_.roles.size());
    auto first = std::size_t{0};
    for (std::size_t track = 0; track < timeline_.tracks.size(); ++track) {
      auto const role = program_.role_of(timeline_.tracks[track].rank).index();
      roles_.push_back(&program_.roles[role]);
      ranks[role] += timeline_.tracks[track].multiplicity;
      expect(timeline_.tracks[track].role == program_.text(roles_.back()->name), "track {} has another role's name",
             track);
      auto count = std::size_t{0};
      while (first + count < timeline_.spans.size() && timeline_.spans[first + count].track.index() == track) ++count;
      spans_.push_back(std::span{timeline_.spans}.subspan(first, count));
      first += count;
      check_operations(track);
    }
    expect(first == timeline_.spans.size(), "spans are not ordered by track");
    for (std::size_t role = 0; role < ranks.size(); ++role)
      expect(ranks[role] == program_.multiplicity(RoleId{role}), "the tracks of role {} stand for {} ranks of {}", role,
             ranks[role], program_.multiplicity(RoleId{role}));
    return violations_.empty();
  }

  void check_operations(std::size_t track) {
    auto const& role = *roles_[track];
    auto const& spans = spans_[track];
    expect(spans.size() == role.operations.size(), "track {} has {} spans for {} operations", track, spans.size(),
           role.operations.size());
    for (std::size_t i = 0; i < std::min(spans.size(), role.operations.size()); ++i) {
      auto const& op = role.operations[i];
      expect(spans[i].op == OpId{i}, "span {} of track {} is of operation {}", i, track, spans[i].op.index());
      expect(spans[i].stream == op.stream && spans[i].kind == work_kind_of(role, op) && spans[i].name == op.name &&
                 spans[i].scope == op.scope,
             "span {} of track {} does not look like {}", i, track, program_.describe(op));
    }
  }

  void check_times(std::size_t track) {
    for (auto const& span : spans_[track]) {
      expect(Time{} <= span.issue && span.issue <= span.arrive && span.arrive <= span.start && span.start <= span.end,
             "{}: issue {}, arrive {}, start {}, end {} ps are out of order", where(track, span), span.issue.count(),
             span.arrive.count(), span.start.count(), span.end.count());
      auto const& op = roles_[track]->operations[span.op.index()];
      if (auto const* delay = std::get_if<program::Delay>(&op.work))
        expect(span.end - span.start >= delay->duration, "{}: takes less than its delay", where(track, span));
    }
  }

  void check_issue(std::size_t track) {
    auto host_is_free = Time{};
    for (auto const& span : spans_[track]) {
      expect(span.issue >= host_is_free, "{}: issued before the host was free", where(track, span));
      host_is_free =
          std::max(host_is_free, roles_[track]->operations[span.op.index()].is_on_host() ? span.end : span.issue);
    }
  }

  void check_streams(std::size_t track) {
    auto const& role = *roles_[track];
    auto is_free = std::vector<Time>(role.streams.size());
    for (auto const& span : spans_[track]) {
      auto const& op = role.operations[span.op.index()];
      for (auto const before : role.waits_of(op))
        expect(span.arrive >= spans_[track][before.index()].end, "{}: arrives before {} has ended", where(track, span),
               program_.describe(role.operations[before.index()]));
      if (op.is_on_host()) continue;
      auto& free = is_free[op.stream.index()];
      expect(span.start >= free, "{}: starts before its stream is free", where(track, span));
      free = span.end;
    }
  }

  void check_communicators(std::size_t track) {
    auto is_free = std::vector<Time>(program_.communicators.size());
    for (auto const& span : spans_[track]) {
      auto busy = std::vector<std::size_t>{};
      for (auto const& part : parts_of(track, span))
        if (auto const* collective = std::get_if<program::Collective>(&part))
          busy.push_back(collective->communicator.index());
      for (auto const communicator : busy)
        expect(span.start >= is_free[communicator], "{}: starts while communicator {} is busy", where(track, span),
               communicator);
      for (auto const communicator : busy) is_free[communicator] = span.end;
    }
  }

  void check_bytes(std::size_t track) {
    for (auto const& span : spans_[track]) {
      auto expected = Bytes{};
      for (auto const& part : parts_of(track, span)) expected += payload(program_, part, rank_of(track));
      auto const& op = roles_[track]->operations[span.op.index()];
      if (auto const* copy = std::get_if<program::Copy>(&op.work))
        expected = Bytes{program_.evaluate(copy->bytes, rank_of(track))};
      expect(span.bytes == expected, "{}: carries {} bytes instead of {}", where(track, span), span.bytes.count(),
             expected.count());
    }
  }

  void check_memory(std::size_t track) {
    using Kind = std::pair<program::MemorySpace, program::MemoryCategory>;
    auto held = std::map<Kind, Bytes>{};
    auto last = Time{};
    for (auto const& sample : timeline_.memory) {
      if (sample.track.index() != track) continue;
      expect(sample.time >= last, "memory of track {} is not in the order of time", track);
      last = sample.time;
      auto& bytes = held[{sample.space, sample.category}];
      bytes += sample.change;
      expect(bytes >= Bytes{}, "track {} holds {} bytes of {}", track, bytes.count(), name_of(sample.category));
    }
    auto expected = std::map<Kind, Bytes>{};
    for (auto const& buffer : roles_[track]->buffers)
      if (buffer.is_persistent)
        expected[{buffer.space, buffer.category}] +=
            size_of(buffer.type) * program_.evaluate(buffer.elements, rank_of(track));
    for (auto const& [kind, bytes] : held) expected.try_emplace(kind);
    for (auto const& [kind, bytes] : expected) {
      auto const category = kind.second;
      if (category == program::MemoryCategory::kContext || category == program::MemoryCategory::kCollectiveLibrary ||
          category == program::MemoryCategory::kFragmentation)
        continue;
      expect(held[kind] == bytes, "track {} ends with {} bytes of {} in {} memory instead of {}", track,
             held[kind].count(), name_of(category), name_of(kind.first), bytes.count());
    }
  }

  /// One part of a communication as one track takes part in it.
  struct Member {
    std::size_t track = 0;
    Span const* span = nullptr;
    program::CommunicationPart const* part = nullptr;
  };

  /// Puts together the spans that belong to one collective or one message, by order of issue.
  void check_meetings() {
    using Meeting = std::tuple<std::size_t, RankId, RankId, std::int64_t>;
    auto meetings = std::map<Meeting, std::vector<Member>>{};
    for (std::size_t track = 0; track < spans_.size(); ++track) {
      auto issued = std::map<std::tuple<std::size_t, RankId, RankId, bool>, std::int64_t>{};
      for (auto const& span : spans_[track]) {
        for (auto const& part : parts_of(track, span)) {
          auto const [communicator, first, second, sends] = meeting_of(track, part);
          auto const index = issued[{communicator, first, second, sends}]++;
          meetings[{communicator, first, second, index}].push_back({track, &span, &part});
        }
      }
    }
    for (auto const& [meeting, members] : meetings)
      for (auto const& member : members)
        for (auto const& other : members)
          expect(member.span->end >= other.span->arrive || !needs(member, other), "{}: ends before {} arrives",
                 where(member.track, *member.span), where(other.track, *other.span));
  }

  /// Whether a communication can end for `member` only after `other` has arrived. On the virtual clock always; on a
  /// real network, where nobody waits to be told, if it receives something of the other's.
  [[nodiscard]] bool needs(Member const& member, Member const& other) const {
    if (timeline_.manifest.clock == timeline::Clock::kVirtual || member.track == other.track) return true;
    auto const* collective = std::get_if<program::Collective>(member.part);
    if (collective == nullptr) {
      auto const& message = std::get<program::PointToPoint>(*member.part);
      return !message.sends && program_.evaluate(message.elements, rank_of(member.track)) > 0;
    }
    auto const place = place_of(member, *collective);
    auto const other_place = place_of(other, *collective);
    auto const root = program_.evaluate(collective->root, rank_of(member.track));
    auto const all = program_.evaluate(collective->elements, rank_of(member.track));
    auto const mine = chunk(member, place);
    auto const theirs = chunk(member, other_place);
    using enum CollectiveKind;
    switch (collective->kind) {
      case kAllReduce: return all > 0;
      case kAllGather: return theirs > 0;
      case kReduceScatter: return mine > 0;
      case kBroadcast: return other_place == root && all > 0;
      case kReduce: return place == root && all > 0;
      case kGather: return place == root && theirs > 0;
      case kScatter: return other_place == root && mine > 0;
      case kAllToAll: return chunk(other, place) > 0;
    }
    return true;
  }
  [[nodiscard]] std::int64_t place_of(Member const& member, program::Collective const& collective) const {
    return program_.grids.index_in_group(rank_of(member.track),
                                         program_.communicators[collective.communicator.index()].along);
  }
  /// Elements of the chunk of `place`, in what `member` takes part in.
  [[nodiscard]] std::int64_t chunk(Member const& member, std::int64_t place) const {
    auto const& collective = std::get<program::Collective>(*member.part);
    auto const places = program_.grids.size(program_.communicators[collective.communicator.index()].along);
    auto const elements = program_.evaluate(collective.elements, rank_of(member.track));
    return chunk_begin(elements, places, place + 1) - chunk_begin(elements, places, place);
  }

  [[nodiscard]] std::tuple<std::size_t, RankId, RankId, bool> meeting_of(std::size_t track,
                                                                         program::CommunicationPart const& part) const {
    auto const rank = rank_of(track);
    auto const along =
        program_.communicators[std::visit([](auto const& p) { return p.communicator.index(); }, part)].along;
    if (auto const* message = std::get_if<program::PointToPoint>(&part)) {
      auto const peer = program_.grids.rank_in_group(rank, along, program_.evaluate(message->peer, rank));
      auto const pair = message->sends ? std::pair{rank, peer} : std::pair{peer, rank};
      return {program_.communicators.size() + message->communicator.index(), pair.first, pair.second, message->sends};
    }
    auto const first = program_.grids.rank_in_group(rank, along, 0);
    return {std::get<program::Collective>(part).communicator.index(), first, first, false};
  }

  void check_step_time() {
    auto last = Time{};
    for (auto const& span : timeline_.spans) last = std::max(last, span.end);
    expect(timeline_.step_time == last, "the step takes {} ps, but its last span ends at {} ps",
           timeline_.step_time.count(), last.count());
    expect(timeline_.manifest.world_size == program_.grids.world_size(), "the manifest has another world size");
  }

  [[nodiscard]] RankId rank_of(std::size_t track) const { return timeline_.tracks[track].rank; }
  [[nodiscard]] std::span<program::CommunicationPart const> parts_of(std::size_t track, Span const& span) const {
    auto const& op = roles_[track]->operations[span.op.index()];
    auto const* communication = std::get_if<program::Communication>(&op.work);
    return communication == nullptr ? std::span<program::CommunicationPart const>{}
                                    : roles_[track]->parts_of(*communication);
  }
  [[nodiscard]] std::string where(std::size_t track, Span const& span) const {
    return fmt::format("rank {}, {}", rank_of(track).index(),
                       program_.describe(roles_[track]->operations[span.op.index()]));
  }

  StepProgram const& program_;
  Timeline const& timeline_;
  std::vector<Role const*> roles_;            // by track
  std::vector<std::span<Span const>> spans_;  // by track, then op
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> find_violations(StepProgram const& program, Timeline const& timeline) {
  return Checks{program, timeline}.run();
}

}  // namespace twinstep::tests
