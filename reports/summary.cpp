#include "reports/summary.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "reports/intervals.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/check.hpp"

namespace twinstep::reports {

using program::MemoryCategory;
using program::MemorySpace;
using timeline::Timeline;
using timeline::TrackId;

namespace {

std::string describe_track(Timeline const& timeline, TrackId track) {
  return track.exists() ? describe(timeline.tracks[track.index()]) : std::string{};
}

void add_rates(Summary& summary, timeline::Manifest const& manifest) {
  auto const seconds = to_seconds(summary.step_time).count();
  if (seconds <= 0) return;
  auto const ranks = static_cast<double>(manifest.world_size);
  auto const tokens = static_cast<double>(manifest.tokens);
  summary.token_rate = TokensPerSecond{tokens / seconds};
  summary.token_rate_per_gpu = TokensPerSecond{tokens / seconds / ranks};
  summary.model_rate_per_gpu = FlopsPerSecond{manifest.model_flops.count() / seconds / ranks};
  auto const utilisation = [&](Flops flops) -> std::optional<double> {
    if (manifest.peak.count() <= 0 || flops.count() <= 0) return {};
    return flops.count() / seconds / ranks / manifest.peak.count();
  };
  summary.mfu = utilisation(manifest.model_flops);
  summary.hfu = utilisation(manifest.hardware_flops);
}

bool holds(std::optional<Bytes> capacity, Bytes needed) {
  return !capacity || needed <= *capacity;
}

std::optional<Bytes> device_capacity(Summary const& summary) {
  return summary.capacity > Bytes{} ? std::optional{summary.capacity} : std::nullopt;
}

void add_memory(Summary& summary, Timeline const& timeline) {
  summary.peak = find_worst_peak(timeline, MemorySpace::kDevice);
  summary.peak_rank = describe_track(timeline, summary.peak.track);
  if (summary.peak.track.exists()) summary.candidates = find_peak_candidates(timeline, summary.peak.track);
  summary.reserved_peak = find_worst_peak(timeline, MemorySpace::kDevice, Counting::kReserved);
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    auto const& use = timeline.tracks[i].allocator;
    if (!use) continue;
    if (!summary.allocator) summary.allocator.emplace();
    summary.allocator->retries = std::max(summary.allocator->retries, use->retries);
    if (TrackId{i} == summary.reserved_peak.track) summary.allocator->segments = use->segments;
  }
  summary.capacity = timeline.manifest.memory_capacity;
  summary.fits = holds(device_capacity(summary), summary.needed().total());
  summary.host_peak = find_worst_peak(timeline, MemorySpace::kHost).total();
  summary.nvme_peak = find_worst_peak(timeline, MemorySpace::kNvme).total();
}

void add_communication(Summary& summary, Timeline const& timeline) {
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    auto const communication = busy(timeline, TrackId{i}, WorkClass::kCommunication);
    auto const exposed =
        time_in_step(timeline, subtract(communication, busy(timeline, TrackId{i}, WorkClass::kCompute)));
    if (i > 0 && exposed <= summary.exposed_communication) continue;
    summary.exposed_communication = exposed;
    summary.communication = time_in_step(timeline, communication);
  }
  auto const slowest = slowest_track(timeline);
  summary.breakdown = break_down(timeline, slowest);
  summary.breakdown_rank = describe_track(timeline, slowest);
}

void add_links(Summary& summary, Timeline const& timeline) {
  summary.wire = timeline.wire;
  for (auto const& traffic : timeline.links) {
    auto& link = summary.links.emplace_back(LinkUse{.traffic = traffic});
    auto const possible = traffic.bandwidth.count() * to_seconds(timeline.step_time).count();
    if (possible > 0) link.utilisation = static_cast<double>(traffic.bytes.count()) / possible;
  }
}

}  // namespace

Summary summarize(Timeline const& timeline) {
  auto const& manifest = timeline.manifest;
  auto summary = Summary{.scenario = manifest.scenario,
                         .calibration = manifest.calibration,
                         .clock = manifest.clock,
                         .world_size = manifest.world_size,
                         .tokens = manifest.tokens,
                         .step_time = timeline.step_time,
                         .events = timeline.events};
  add_rates(summary, manifest);
  add_memory(summary, timeline);
  add_communication(summary, timeline);
  summary.stages = stages_of(timeline);
  add_links(summary, timeline);
  return summary;
}

void hold_against_host(Summary& summary, std::optional<Bytes> memory, std::optional<Bytes> drives) {
  summary.host_capacity = memory;
  summary.nvme_capacity = drives;
  summary.fits = summary.fits && holds(memory, summary.host_peak) && holds(drives, summary.nvme_peak);
}

std::vector<MemoryCategory> largest_categories(BytesByCategory const& held) {
  auto categories = std::vector<MemoryCategory>{};
  for (std::size_t i = 0; i < held.size(); ++i)
    if (held[i] > Bytes{}) categories.push_back(static_cast<MemoryCategory>(i));
  std::ranges::stable_sort(categories, std::greater{},
                           [&](MemoryCategory category) { return held[static_cast<std::size_t>(category)]; });
  return categories;
}

Shortage shortage_of(Summary const& summary) {
  TWINSTEP_CHECK(!summary.fits, "only a step that does not fit has a reason for it");
  if (auto const needed = summary.needed().total(); !holds(device_capacity(summary), needed))
    return {"device memory", needed, summary.capacity};
  if (!holds(summary.host_capacity, summary.host_peak))
    return {"host memory", summary.host_peak, *summary.host_capacity};
  return {"NVMe", summary.nvme_peak, summary.nvme_capacity.value()};
}

std::string why_it_does_not_fit(Summary const& summary) {
  auto const [of, needs, has] = shortage_of(summary);
  auto const way_out = summary.way_out.empty() ? "" : "; " + summary.way_out;
  if (of != "device memory")
    return fmt::format("needs {} of {} a rank, whose share is {}{}", memory_text(needs), of, memory_text(has), way_out);
  constexpr std::size_t kShown = 4;
  auto const& needed = summary.needed();
  auto const categories = largest_categories(needed.held);
  auto parts = std::string{};
  for (std::size_t i = 0; i < std::min(kShown, categories.size()); ++i)
    parts += fmt::format("{}{} {}", i == 0 ? "" : ", ", name_of(categories[i]),
                         memory_text(needed.held[static_cast<std::size_t>(categories[i])]));
  return fmt::format("needs {}{}{} ({}), has {}{}{}", memory_text(needs), needed.at.empty() ? "" : " at ", needed.at,
                     parts, memory_text(has),
                     summary.headroom() < Bytes{}
                         ? ""
                         : "; without fragmentation it would fit: try cluster.allocator.expandable_segments",
                     way_out);
}

std::string memory_warning(Summary const& summary) {
  constexpr double kFull = 0.95;
  if (!summary.fits || summary.capacity == Bytes{}) return {};
  if (auto const retries = summary.allocator ? summary.allocator->retries : 0; retries > 0)
    return fmt::format(
        "fits only because the allocator gives back its cache and asks again {} {} a step; each time the GPU is waited "
        "for, which costs time that is not in the step time",
        retries, retries == 1 ? "time" : "times");
  auto const share = static_cast<double>(summary.peak.total().count()) / static_cast<double>(summary.capacity.count());
  if (share <= kFull) return {};
  return fmt::format(
      "the peak is {} of the device's memory: one in three measured steps that came so close ran 20 to 28 % slower",
      percent_text(share));
}

std::string why_it_is_infeasible(Infeasible const& infeasible) {
  return infeasible.way_out.empty() ? infeasible.reason : infeasible.reason + "; " + infeasible.way_out;
}

}  // namespace twinstep::reports
