#include "reports/memory.hpp"

#include <algorithm>
#include <span>

#include "reports/intervals.hpp"

namespace twinstep::reports {

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

/// The last operation that the host had begun to issue by `time`.
std::string issued_at(Timeline const& timeline, TrackId track, Time time) {
  Span const* latest = nullptr;
  for (auto const& span : spans_of(timeline, track))
    if (span.issue <= time && (latest == nullptr || span.issue >= latest->issue)) latest = &span;
  return latest == nullptr ? std::string{} : describe(timeline, *latest);
}

}  // namespace

Bytes total(BytesByCategory const& held) {
  auto sum = Bytes{};
  for (auto const bytes : held) sum += bytes;
  return sum;
}

MemoryPeak find_peak(Timeline const& timeline, TrackId track, MemorySpace space) {
  auto peak = MemoryPeak{.track = track};
  auto held = BytesByCategory{};
  auto now = Bytes{};
  auto highest = Bytes{};
  for (auto const& sample : samples_of(timeline, track)) {
    if (sample.space != space) continue;
    held[static_cast<std::size_t>(sample.category)] += sample.change;
    now += sample.change;
    if (now <= highest) continue;
    highest = now;
    peak.time = sample.time;
    peak.held = held;
  }
  if (highest > Bytes{}) peak.at = issued_at(timeline, track, peak.time);
  return peak;
}

MemoryPeak find_worst_peak(Timeline const& timeline, MemorySpace space) {
  auto worst = MemoryPeak{};
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    auto peak = find_peak(timeline, TrackId{i}, space);
    if (i == 0 || peak.total() > worst.total()) worst = std::move(peak);
  }
  return worst;
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
