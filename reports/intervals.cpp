#include "reports/intervals.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace twinstep::reports {

using timeline::Span;
using timeline::Timeline;
using timeline::TrackId;

namespace {

/// Makes one of those that follow each other and touch or overlap, and leaves out empty ones. Of intervals that are
/// ordered by their begin that leaves the set of their moments.
Intervals join_followers(std::vector<Interval> const& intervals) {
  auto result = Intervals{};
  for (auto const& interval : intervals) {
    if (interval.begin >= interval.end) continue;
    auto* const last = result.empty() ? nullptr : &result.back();
    if (last != nullptr && interval.begin >= last->begin && interval.begin <= last->end)
      last->end = std::max(last->end, interval.end);
    else
      result.push_back(interval);
  }
  return result;
}

}  // namespace

Intervals merged(std::vector<Interval> const& intervals) {
  auto joined = join_followers(intervals);  // most kernels begin where the one before ends
  if (std::ranges::is_sorted(joined, {}, &Interval::begin)) return joined;
  std::ranges::sort(joined, {}, &Interval::begin);
  return join_followers(joined);
}

Intervals unite(Intervals const& a, Intervals const& b) {
  auto ordered = std::vector<Interval>{};
  ordered.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(ordered), {}, &Interval::begin, &Interval::begin);
  return join_followers(ordered);
}

Intervals subtract(Intervals const& from, Intervals const& what) {
  auto result = Intervals{};
  auto hole = what.begin();
  for (auto const& interval : from) {
    while (hole != what.end() && hole->end <= interval.begin) ++hole;
    auto begin = interval.begin;
    for (auto next = hole; next != what.end() && next->begin < interval.end; ++next) {
      if (begin < next->begin) result.push_back({begin, next->begin});
      begin = next->end;
    }
    if (begin < interval.end) result.push_back({begin, interval.end});
  }
  return result;
}

Intervals clip(Intervals intervals, Interval window) {
  for (auto& interval : intervals) {
    interval.begin = std::max(interval.begin, window.begin);
    interval.end = std::min(interval.end, window.end);
  }
  std::erase_if(intervals, [](Interval const& interval) { return interval.begin >= interval.end; });
  return intervals;
}

Duration total_length(Intervals const& intervals) {
  auto total = Duration{};
  for (auto const& interval : intervals) total += interval.end - interval.begin;
  return total;
}

Duration time_in_step(Timeline const& timeline, Intervals const& intervals) {
  auto const time = total_length(intervals);
  if (!timeline.repeat) return time;
  auto const& [micro_batch, times, period, from] = *timeline.repeat;
  return time + total_length(clip(intervals, {from, from + period})) * times;
}

std::span<Span const> spans_of(Timeline const& timeline, TrackId track) {
  auto const first = std::ranges::lower_bound(timeline.spans, track, {}, &Span::track);
  return {first, std::ranges::upper_bound(timeline.spans, track, {}, &Span::track)};
}

SpansOfTrack::SpansOfTrack(Timeline const& timeline, TrackId track) : spans_{spans_of(timeline, track)} {
  if (!timeline.repeat) return;
  moved_.assign(spans_.begin(), spans_.end());
  auto const is_behind = [&](Span const& span) { return timeline.micro_batch_of(span) > timeline.repeat->micro_batch; };
  auto const length = timeline.repeat->length();
  for (auto span = std::ranges::find_if(moved_, is_behind); span != moved_.end(); ++span)
    for (auto* const time : {&span->issue, &span->arrive, &span->start, &span->end}) *time -= length;
  spans_ = moved_;
}

Intervals busy(Timeline const& timeline, TrackId track, WorkClass work) {
  auto intervals = std::vector<Interval>{};
  for (auto const& span : SpansOfTrack{timeline, track})
    if (work_class(span.kind) == work) intervals.push_back(occupied(span));
  return merged(intervals);
}

TrackId slowest_track(Timeline const& timeline) {
  if (timeline.tracks.empty()) return {};
  auto slowest = TrackId{0};
  auto latest = Time{};
  for (auto const& span : timeline.spans) {
    if (span.end <= latest) continue;
    latest = span.end;
    slowest = span.track;
  }
  return slowest;
}

std::string describe(timeline::Track const& track) {
  auto text = fmt::format("rank {}", track.rank.index());
  if (track.multiplicity > 1) text += fmt::format(" (of {} alike)", track.multiplicity);
  if (!track.role.empty()) text += ", " + track.role;
  return text;
}

}  // namespace twinstep::reports
