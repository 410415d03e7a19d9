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
    auto is_backward = false;
    for (auto const& span : spans_of(timeline, track)) {  // in the order of issue
      auto const was_backward = std::exchange(is_backward, program::goes_back(timeline.pass_of(span)));
      if (is_backward != was_backward) turns_.push_back(span.issue);
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

/// The samples of one track that count, in the order of time, and what it holds after each.
class Holding {
 public:
  Holding(Timeline const& timeline, TrackId track, MemorySpace space, Counting counting)
      : timeline_{timeline}, track_{track}, space_{space}, counting_{counting}, samples_{samples_of(timeline, track)} {}

  /// Calls `visit(number, sample)` for each that counts; it is among the first `number`.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (std::size_t i = 0; i < samples_.size(); ++i)
      if (counts(samples_[i], space_, counting_)) visit(i + 1, samples_[i]);
  }
  /// After the first `number` samples of the track.
  [[nodiscard]] MemoryPeak after(std::size_t number) const {
    auto peak = MemoryPeak{.track = track_};
    for (auto const& sample : samples_.first(number))
      if (counts(sample, space_, counting_)) peak.held[static_cast<std::size_t>(sample.category)] += sample.change;
    if (number > 0) peak.time = samples_[number - 1].time;
    if (auto const* span = issued_at(timeline_, track_, peak.time); span != nullptr && peak.total() > Bytes{})
      peak.at = describe(timeline_, *span);
    return peak;
  }

 private:
  Timeline const& timeline_;
  TrackId track_;
  MemorySpace space_;
  Counting counting_;
  std::span<MemorySample const> samples_;
};

/// The highest of some moments; of those that are as high, the first at which most of it is allocated: what an
/// allocator holds all the time is cached at most moments.
class Highest {
 public:
  /// The moment after so many samples, at which `sum` is held, `cached` of it by an allocator.
  void offer(std::size_t number, Bytes sum, Bytes cached) {
    if (number_ && (sum < sum_ || (sum == sum_ && cached >= cached_))) return;
    number_ = number;
    sum_ = sum;
    cached_ = cached;
  }
  [[nodiscard]] std::optional<MemoryPeak> peak(Holding const& holding) const {
    return number_ ? std::optional{holding.after(*number_)} : std::nullopt;
  }

 private:
  std::optional<std::size_t> number_;
  Bytes sum_;
  Bytes cached_;
};

}  // namespace

Bytes total(BytesByCategory const& held) {
  auto sum = Bytes{};
  for (auto const bytes : held) sum += bytes;
  return sum;
}

Bytes allocated(BytesByCategory const& held) {
  return total(held) - held[static_cast<std::size_t>(MemoryCategory::kFragmentation)];
}

MemoryPeak find_peak(Timeline const& timeline, TrackId track, MemorySpace space, Counting counting) {
  auto const holding = Holding{timeline, track, space, counting};
  auto highest = Highest{};
  auto sum = Bytes{};
  auto cached = Bytes{};
  highest.offer(0, sum, cached);
  holding.for_each([&](std::size_t number, MemorySample const& sample) {
    sum += sample.change;
    if (sample.category == MemoryCategory::kFragmentation) cached += sample.change;
    highest.offer(number, sum, cached);
  });
  return *highest.peak(holding);
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
  auto const holding = Holding{timeline, track, MemorySpace::kDevice, Counting::kAllocated};
  auto backward_passes = BackwardPasses{timeline, track};
  auto loss = Highest{};
  auto backward = Highest{};
  auto sum = Bytes{};
  auto logits = Bytes{};
  holding.for_each([&](std::size_t number, MemorySample const& sample) {
    sum += sample.change;
    if (sample.category == MemoryCategory::kLogits) logits += sample.change;
    auto const is_backward = backward_passes.contains(sample.time);
    if (logits > Bytes{})
      loss.offer(number, sum, {});
    else if (is_backward)
      backward.offer(number, sum, {});
  });
  return {loss.peak(holding), backward.peak(holding)};
}

std::vector<MemoryPoint> memory_curve(Timeline const& timeline, TrackId track, MemorySpace space) {
  auto curve = std::vector<MemoryPoint>{};
  auto now = MemoryPoint{};
  auto most = MemoryPoint{};
  auto const end_moment = [&] {
    if (allocated(most.held) > allocated(now.held)) curve.push_back(most);
    curve.push_back(now);
  };
  auto is_first = true;
  for (auto const& sample : samples_of(timeline, track)) {
    if (sample.space != space) continue;
    if (!is_first && sample.time != now.time) end_moment();
    auto const is_new = is_first || sample.time != now.time;
    now.time = sample.time;
    now.held[static_cast<std::size_t>(sample.category)] += sample.change;
    if (is_new || allocated(now.held) > allocated(most.held)) most = now;
    is_first = false;
  }
  if (!is_first) end_moment();
  return curve;
}

std::string describe(Timeline const& timeline, Span const& span) {
  auto text = timeline.text(span.scope);
  if (!text.empty()) text += '/';
  return text += timeline.text(span.name);
}

}  // namespace twinstep::reports
