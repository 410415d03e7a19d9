#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "sim/timeline/timeline.hpp"

/// When a track is busy with what: sets of moments, and their unions and differences.
namespace twinstep::reports {

/// The moments from `begin` up to, but without, `end`.
struct Interval {
  Time begin;
  Time end;
  bool operator==(Interval const&) const = default;
};

/// A set of moments: intervals in the order of time that are not empty and do not touch.
using Intervals = std::vector<Interval>;

/// The set of all moments that lie in one of `intervals`, which may overlap, touch, be empty and have any order.
/// Cost: a sort, and linear for what is already in order.
[[nodiscard]] Intervals merged(std::vector<Interval> const& intervals);

/// The moments of either. Cost: linear.
[[nodiscard]] Intervals unite(Intervals const& a, Intervals const& b);

/// The moments of `from` that are not in `what`. Cost: linear.
[[nodiscard]] Intervals subtract(Intervals const& from, Intervals const& what);

/// The moments of `intervals` that lie in `window`. Cost: linear.
[[nodiscard]] Intervals clip(Intervals intervals, Interval window);

[[nodiscard]] Duration total_length(Intervals const& intervals);

/// How long a track is in `intervals` in the whole step. They are moments of the step without what is left out
/// (`SpansOfTrack`); those in which the step repeats itself count as often as they come.
[[nodiscard]] Duration time_in_step(timeline::Timeline const& timeline, Intervals const& intervals);

/// What kind of engine a span occupies.
enum class WorkClass : std::uint8_t { kCompute, kCommunication, kCopy, kHost };

[[nodiscard]] constexpr WorkClass work_class(program::WorkKind kind) {
  if (program::is_compute(kind)) return WorkClass::kCompute;
  if (program::is_communication(kind)) return WorkClass::kCommunication;
  return kind == program::WorkKind::kCopy ? WorkClass::kCopy : WorkClass::kHost;
}

/// When `span` occupies its stream. A communication does so from the moment its rank is ready, waiting or
/// transferring; everything else from its start.
[[nodiscard]] constexpr Interval occupied(timeline::Span const& span) {
  return {program::is_communication(span.kind) ? span.arrive : span.start, span.end};
}

/// The spans of one track, in the order of its program. Cost: logarithmic in the spans of the timeline.
[[nodiscard]] std::span<timeline::Span const> spans_of(timeline::Timeline const& timeline, timeline::TrackId track);

/// The spans of one track, moved together where micro-batches are left out.
class SpansOfTrack {
 public:
  SpansOfTrack(timeline::Timeline const& timeline, timeline::TrackId track);
  [[nodiscard]] auto begin() const { return spans_.begin(); }
  [[nodiscard]] auto end() const { return spans_.end(); }

 private:
  std::vector<timeline::Span> moved_;  // none where nothing is left out
  std::span<timeline::Span const> spans_;
};

/// When at least one span of `work` occupies a stream of the track, without what is
/// left out.
[[nodiscard]] Intervals busy(timeline::Timeline const& timeline, timeline::TrackId track, WorkClass work);

/// The track that ends last; the first of them if several do. None if the timeline has no tracks.
[[nodiscard]] timeline::TrackId slowest_track(timeline::Timeline const& timeline);

/// "rank 3, stage_1", and "rank 0 (of 16 alike), stage_0" for a track that stands for several ranks.
[[nodiscard]] std::string describe(timeline::Track const& track);

}  // namespace twinstep::reports

template <>
struct twinstep::EnumNames<twinstep::reports::WorkClass> {
  static constexpr std::array<std::string_view, 4> values{"compute", "communication", "copy", "host"};
};
