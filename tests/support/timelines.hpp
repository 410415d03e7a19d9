#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "sim/timeline/timeline.hpp"

/// Timelines made by hand, for tests of what reads them.
namespace twinstep::tests {

/// Begin and end of a span. Where a test says no more, it was issued at its begin, and ran at once.
struct At {
  Time begin;
  Time end;
};

/// Writes a timeline span by span. Spans and memory go to the track that was added last; the first, a rank 0 of role
/// "rank", is there from the start. Stream 0 computes, 1 communicates, 2 copies.
class TimelineBuilder {
 public:
  TimelineBuilder() { add_track("rank"); }

  /// Replaces the first track if that is still empty.
  TimelineBuilder& track(std::string role, std::size_t rank, std::int64_t multiplicity = 1) {
    if (made_.spans.empty() && made_.memory.empty()) made_.tracks.clear();
    add_track(std::move(role), rank, multiplicity);
    return *this;
  }
  /// Spans from now on lie in `unit` and `pass`.
  TimelineBuilder& scope(std::string_view unit, program::Pass pass = program::Pass::kNone) {
    scope_ = scope_ids_.id_of({unit.empty() ? NameId{} : intern(unit), pass}, made_.scopes);
    return *this;
  }

  TimelineBuilder& compute(program::WorkKind kind, std::string_view name, At at) {
    return add(kind, name, at.begin, at.begin, at.begin, at.end);
  }
  /// Ready at `arrive`; the other ranks at `start`.
  TimelineBuilder& communicate(program::WorkKind kind, std::string_view name, Time arrive, Time start, Time end) {
    return add(kind, name, arrive, arrive, start, end);
  }
  TimelineBuilder& copy(std::string_view name, At at) {
    return add(program::WorkKind::kCopy, name, at.begin, at.begin, at.begin, at.end);
  }
  TimelineBuilder& host(std::string_view name, At at) {
    return add(program::WorkKind::kHost, name, at.begin, at.begin, at.begin, at.end);
  }
  /// Requires issue <= arrive <= start <= end.
  TimelineBuilder& add(program::WorkKind kind, std::string_view name, Time issue, Time arrive, Time start, Time end) {
    auto const stream = kind == program::WorkKind::kHost   ? StreamId{}
                        : program::is_communication(kind)  ? StreamId{1}
                        : kind == program::WorkKind::kCopy ? StreamId{2}
                                                           : StreamId{0};
    made_.spans.push_back({.track = last_track(),
                           .stream = stream,
                           .op = OpId{ops_++},
                           .name = intern(name),
                           .scope = scope_,
                           .kind = kind,
                           .issue = issue,
                           .arrive = arrive,
                           .start = start,
                           .end = end});
    made_.step_time = std::max(made_.step_time, end);
    return *this;
  }

  TimelineBuilder& memory(Time time, program::MemoryCategory category, Bytes change,
                          program::MemorySpace space = program::MemorySpace::kDevice) {
    made_.memory.push_back({last_track(), time, category, space, change});
    return *this;
  }

  [[nodiscard]] timeline::Manifest& manifest() { return made_.manifest; }
  [[nodiscard]] timeline::Timeline& timeline() { return made_; }

 private:
  void add_track(std::string role, std::size_t rank = 0, std::int64_t multiplicity = 1) {
    made_.tracks.push_back({std::move(role), RankId{rank}, multiplicity, {"compute", "communication", "copy"}});
    ops_ = 0;
  }
  [[nodiscard]] timeline::TrackId last_track() const { return timeline::TrackId{made_.tracks.size() - 1}; }
  NameId intern(std::string_view name) {
    auto const found = std::ranges::find(made_.names, name);
    auto const index = static_cast<std::size_t>(found - made_.names.begin());
    if (found == made_.names.end()) made_.names.emplace_back(name);
    return NameId{index};
  }

  timeline::Timeline made_;
  program::ScopeIds scope_ids_;
  program::ScopeId scope_;
  std::size_t ops_ = 0;
};

}  // namespace twinstep::tests
