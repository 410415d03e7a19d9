#include "reports/memory.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "reports/intervals.hpp"

namespace twinstep::reports {

using program::MemoryCategory;
using program::MemorySpace;
using timeline::MemorySample;
using timeline::Span;
using timeline::Timeline;
using timeline::TrackId;

namespace {

std::span<MemorySample const> samples_of(Timeline const& timeline, TrackId track) {
  auto const first = std::ranges::lower_bound(timeline.memory, track, {}, &MemorySample::track);
  return {first, std::ranges::upper_bound(timeline.memory, track, {}, &MemorySample::track)};
}

/// What a track holds, sample by sample.
struct Holding {
  BytesByCategory held{};
  Bytes sum;

  void add(MemorySample const& sample) {
    held[static_cast<std::size_t>(sample.category)] += sample.change;
    sum += sample.change;
  }
};

bool counts(MemorySample const& sample, MemorySpace space, Counting counting) {
  return sample.space == space &&
         (counting == Counting::kReserved || sample.category != MemoryCategory::kFragmentation);
}

/// The last operation that the host had begun to issue by `time`.
Span const* issued_at(Timeline const& timeline, TrackId track, Time time) {
  Span const* latest = nullptr;
  for (auto const& span : spans_of(timeline, track))
    if (span.issue <= time && (latest == nullptr || span.issue >= latest->issue)) latest = &span;
  return latest;
}

/// The moments at which the host had last issued an operation of a backward pass: intervals between issues.
class BackwardPasses {
 public:
  BackwardPasses(Timeline const& timeline, TrackId track) {
    auto const is_of_backward = [&](Span const& span) {
      auto const scope = timeline.text(span.scope);
      return scope.ends_with(".backward") || scope.ends_with(".recompute");
    };
    auto was_backward = false;
    for (auto const& span : spans_of(timeline, track)) {  // in the order of issue
      auto const is_backward = is_of_backward(span);
      if (is_backward != was_backward) turns_.push_back(span.issue);
      was_backward = is_backward;
    }
  }
  /// Requires moments in their order.
  bool contains(Time time) {
    while (next_ < turns_.size() && turns_[next_] <= time) ++next_;
    return next_ % 2 == 1;
  }

 private:
  std::vector<Time> turns_;  // from other passes to backward, and back
  std::size_t next_ = 0;
};

/// The highest of some moments; of those that are as high, the first at which most of it is allocated: what an
/// allocator holds all the time is cached at most moments.
class Highest {
 public:
  void offer(Time time, Holding const& holding) {
    auto const fragmentation = [](BytesByCategory const& held) {
      return held[static_cast<std::size_t>(MemoryCategory::kFragmentation)];
    };
    if (peak_ && holding.sum < highest_) return;
    if (peak_ && holding.sum == highest_ && fragmentation(holding.held) >= fragmentation(peak_->held)) return;
    highest_ = holding.sum;
    peak_ = MemoryPeak{.time = time, .held = holding.held};
  }
  std::optional<MemoryPeak> peak(Timeline const& timeline, TrackId track) && {
    if (!peak_) return std::nullopt;
    peak_->track = track;
    if (auto const* span = issued_at(timeline, track, peak_->time); span != nullptr && highest_ > Bytes{})
      peak_->at = describe(timeline, *span);
    return std::move(peak_);
  }

 private:
  std::optional<MemoryPeak> peak_;
  Bytes highest_;
};

}  // namespace

Bytes total(BytesByCategory const& held) {
  auto sum = Bytes{};
  for (auto const bytes : held) sum += bytes;
  return sum;
}

MemoryPeak find_peak(Timeline const& timeline, TrackId track, MemorySpace space, Counting counting) {
  auto holding = Holding{};
  auto highest = Highest{};
  highest.offer(Time{}, holding);
  for (auto const& sample : samples_of(timeline, track)) {
    if (!counts(sample, space, counting)) continue;
    holding.add(sample);
    highest.offer(sample.time, holding);
  }
  return *std::move(highest).peak(timeline, track);
}

MemoryPeak find_worst_peak(Timeline const& timeline, MemorySpace space, Counting counting) {
  auto worst = MemoryPeak{};
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    auto peak = find_peak(timeline, TrackId{i}, space, counting);
    if (i == 0 || peak.total() > worst.total()) worst = std::move(peak);
  }
  return worst;
}

PeakCandidates find_peak_candidates(Timeline const& timeline, TrackId track) {
  auto holding = Holding{};
  auto backward_passes = BackwardPasses{timeline, track};
  auto loss = Highest{};
  auto backward = Highest{};
  for (auto const& sample : samples_of(timeline, track)) {
    if (!counts(sample, MemorySpace::kDevice, Counting::kAllocated)) continue;
    holding.add(sample);
    auto const is_backward = backward_passes.contains(sample.time);
    if (holding.held[static_cast<std::size_t>(MemoryCategory::kLogits)] > Bytes{})
      loss.offer(sample.time, holding);
    else if (is_backward)
      backward.offer(sample.time, holding);
  }
  return {std::move(loss).peak(timeline, track), std::move(backward).peak(timeline, track)};
}

std::vector<MemoryPoint> memory_curve(Timeline const& timeline, TrackId track, MemorySpace space) {
  auto curve = std::vector<MemoryPoint>{};
  auto held = BytesByCategory{};
  for (auto const& sample : samples_of(timeline, track)) {
    if (sample.space != space) continue;
    held[static_cast<std::size_t>(sample.category)] += sample.change;
    if (curve.empty() || curve.back().time != sample.time) curve.push_back({.time = sample.time});
    curve.back().held = held;
  }
  return curve;
}

std::string describe(Timeline const& timeline, Span const& span) {
  auto text = std::string{timeline.text(span.scope)};
  if (!text.empty()) text += '/';
  return text += timeline.text(span.name);
}

}  // namespace twinstep::reports
