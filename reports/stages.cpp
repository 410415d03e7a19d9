#include "reports/stages.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "reports/breakdown.hpp"
#include "reports/intervals.hpp"

namespace twinstep::reports {
namespace {

using program::MemorySpace;
using program::Pass;
using timeline::Timeline;
using timeline::TrackId;

constexpr std::size_t kParts = 60;  // fit a terminal

Duration sum_of(std::vector<BreakdownEntry> const& entries, Activity activity) {
  auto sum = Duration{};
  for (auto const& entry : entries)
    if (entry.activity == activity) sum += entry.time;
  return sum;
}

/// How long kernels of each pass run in each part of the step; where they run for half of it, the longest wins.
std::vector<Pass> draw(Timeline const& timeline, TrackId track) {
  auto const part = std::max(timeline.step_time.count() / static_cast<std::int64_t>(kParts), std::int64_t{1});
  auto times = std::vector<std::array<std::int64_t, kEnumSize<Pass>>>(kParts);
  for (auto const& span : spans_of(timeline, track)) {
    if (!program::is_compute(span.kind)) continue;
    auto const end = (span.end - Time{}).count();
    for (auto begin = (span.start - Time{}).count(); begin < end;) {
      auto const index = std::min(static_cast<std::size_t>(begin / part), kParts - 1);
      auto const until = index + 1 == kParts ? end : std::min(end, static_cast<std::int64_t>(index + 1) * part);
      times[index][static_cast<std::size_t>(timeline.pass_of(span))] += until - begin;
      begin = until;
    }
  }
  auto drawn = std::vector<Pass>{};
  for (auto const& by_pass : times) {
    auto const longest = std::ranges::max_element(by_pass);
    auto const is_busy = 2 * std::accumulate(by_pass.begin(), by_pass.end(), std::int64_t{0}) >= part;
    drawn.push_back(is_busy ? static_cast<Pass>(longest - by_pass.begin()) : Pass::kNone);
  }
  return drawn;
}

Time end_of(Timeline const& timeline, TrackId track) {
  auto end = Time{};
  for (auto const& span : spans_of(timeline, track)) end = std::max(end, span.end);
  return end;
}

StageSummary stage_of(Timeline const& timeline, std::vector<TrackId> const& tracks) {
  auto const last = std::ranges::max(tracks, {}, [&](TrackId track) { return end_of(timeline, track); });
  auto const entries = break_down(timeline, last);
  auto stage = StageSummary{.name = timeline.tracks[last.index()].role,
                            .compute = sum_of(entries, Activity::kCompute),
                            .exposed = sum_of(entries, Activity::kTransfer),
                            .waits_for_stages = sum_of(entries, Activity::kWaitsForStages),
                            .waits_for_ranks = sum_of(entries, Activity::kWaitsForRanks),
                            .drawn = draw(timeline, last)};
  for (auto const track : tracks) {
    stage.ranks += timeline.tracks[track.index()].multiplicity;
    auto peak = find_peak(timeline, track, MemorySpace::kDevice);
    if (peak.total() > stage.peak.total()) stage.peak = std::move(peak);
    stage.reserved =
        std::max(stage.reserved, find_peak(timeline, track, MemorySpace::kDevice, Counting::kReserved).total());
  }
  return stage;
}

}  // namespace

std::vector<StageSummary> stages_of(Timeline const& timeline) {
  auto roles = std::vector<std::vector<TrackId>>{};
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    auto const is_of = [&](std::vector<TrackId> const& role) {
      return timeline.tracks[role.front().index()].role == timeline.tracks[i].role;
    };
    auto role = std::ranges::find_if(roles, is_of);
    if (role == roles.end()) role = roles.insert(roles.end(), std::vector<TrackId>{});
    role->emplace_back(i);
  }
  auto stages = std::vector<StageSummary>{};
  if (roles.size() < 2) return stages;
  auto const first_rank = [&](std::vector<TrackId> const& role) { return timeline.tracks[role.front().index()].rank; };
  std::ranges::stable_sort(roles, {}, first_rank);
  for (auto const& role : roles) stages.push_back(stage_of(timeline, role));
  return stages;
}

StageSummary const& fullest_stage(std::vector<StageSummary> const& stages) {
  return *std::ranges::max_element(stages, {}, [](StageSummary const& stage) { return stage.peak.total(); });
}

}  // namespace twinstep::reports
