#include "reports/breakdown.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "reports/intervals.hpp"

namespace twinstep::reports {

using program::WorkKind;
using timeline::Span;
using timeline::Timeline;
using timeline::TrackId;

namespace {

/// The step, cut up by whoever asks first.
class Partition {
 public:
  explicit Partition(Timeline const& timeline) : timeline_{timeline}, whole_{Time{}, timeline.step_time} {
    if (timeline.repeat) whole_.end -= timeline.repeat->length();
  }

  /// Takes what is left of `intervals`.
  Duration take(std::vector<Interval> const& intervals) {
    if (intervals.empty()) return {};
    auto const mine = subtract(clip(merged(intervals), whole_), taken_);
    taken_ = unite(taken_, mine);
    return time_in_step(timeline_, mine);
  }
  [[nodiscard]] Intervals left() const { return subtract(merged({whole_}), taken_); }

 private:
  Timeline const& timeline_;
  Interval whole_;
  Intervals taken_;
};

using SpansByKind = std::array<std::vector<Interval>, kEnumSize<WorkKind>>;

/// Gaps up to the issue of what ends them. Of several operations that end a gap together, the last one issued counts.
std::vector<Interval> waits_for_host(SpansOfTrack const& spans, Intervals const& gaps) {
  auto issues = std::vector<std::optional<Time>>(gaps.size());
  for (auto const& span : spans) {
    auto const interval = occupied(span);
    if (work_class(span.kind) == WorkClass::kHost || interval.begin >= interval.end) continue;
    auto const gap = std::ranges::lower_bound(gaps, interval.begin, {}, &Interval::end);
    if (gap == gaps.end() || gap->end != interval.begin) continue;
    auto& issue = issues[static_cast<std::size_t>(gap - gaps.begin())];
    issue = std::max(issue, std::optional{span.issue});
  }
  auto waits = std::vector<Interval>{};
  for (std::size_t i = 0; i < gaps.size(); ++i)
    if (issues[i]) waits.push_back({gaps[i].begin, std::min(*issues[i], gaps[i].end)});
  return waits;
}

}  // namespace

std::string breakdown_name(BreakdownEntry const& entry) {
  switch (entry.activity) {
    case Activity::kCompute: return std::string{name_of(entry.kind.value())};
    case Activity::kTransfer: return "exposed_" + std::string{name_of(entry.kind.value())};
    case Activity::kWaitsForRanks: return "waits_for_ranks";
    case Activity::kWaitsForStages: return "waits_for_stages";
    case Activity::kCopy: return "exposed_copy";
    case Activity::kWaitsForHost: return "waits_for_host";
    case Activity::kIdle: return "idle";
  }
  return {};
}

std::string in_words(BreakdownEntry const& entry) {
  auto kind = entry.kind ? std::string{name_of(*entry.kind)} : std::string{};
  switch (entry.activity) {
    case Activity::kCompute: return kind;
    case Activity::kTransfer: return "exposed " + kind;
    case Activity::kWaitsForRanks: return "waiting for other ranks";
    case Activity::kWaitsForStages: return "waiting for a neighbouring stage";
    case Activity::kCopy: return "exposed copies to or from host memory";
    case Activity::kWaitsForHost: return "waiting for the host to launch kernels";
    case Activity::kIdle: return "gaps between dependent kernels";
  }
  return kind;
}

std::vector<BreakdownEntry> break_down(Timeline const& timeline, TrackId track) {
  auto running = SpansByKind{};
  auto waiting = std::vector<Interval>{};
  auto for_stages = std::vector<Interval>{};
  auto const spans = SpansOfTrack{timeline, track};
  for (auto const& span : spans) {
    running[static_cast<std::size_t>(span.kind)].push_back({span.start, span.end});
    if (!program::is_communication(span.kind)) continue;
    (span.kind == WorkKind::kPointToPoint ? for_stages : waiting).push_back({span.arrive, span.start});
  }

  auto partition = Partition{timeline};
  auto entries = std::vector<BreakdownEntry>{};
  auto const take = [&](Activity activity, std::optional<WorkKind> kind, std::vector<Interval> const& intervals) {
    auto const time = partition.take(intervals);
    if (time > Duration{}) entries.push_back({activity, kind, time});
  };
  auto const take_class = [&](WorkClass work, Activity activity) {
    for (std::size_t i = 0; i < running.size(); ++i) {
      auto const kind = static_cast<WorkKind>(i);
      if (work_class(kind) == work) take(activity, kind, running[i]);
    }
  };
  take_class(WorkClass::kCompute, Activity::kCompute);
  take_class(WorkClass::kCommunication, Activity::kTransfer);
  take(Activity::kWaitsForRanks, {}, waiting);
  take(Activity::kWaitsForStages, {}, for_stages);
  take(Activity::kCopy, {}, running[static_cast<std::size_t>(WorkKind::kCopy)]);

  auto host = std::move(running[static_cast<std::size_t>(WorkKind::kHost)]);
  std::ranges::move(waits_for_host(spans, partition.left()), std::back_inserter(host));
  take(Activity::kWaitsForHost, {}, host);
  take(Activity::kIdle, {}, partition.left());
  return entries;
}

}  // namespace twinstep::reports
