
#include <algorithm>

#include <fmt/format.h>

#include "reports/intervals.hpp"
#include "reports/memory.hpp"
#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

using program::MemoryCategory;
using reports::MemoryPoint;
using reports::SeriesStyle;
using reports::Summary;

constexpr std::int64_t kMomentsShown = 400;

/// The name of a category as people read it: "gathered parameters".
std::string words_of(MemoryCategory category) {
  auto name = std::string{name_of(category)};
  std::ranges::replace(name, '_', ' ');
  return name;
}

/// When the GPU comes to what the host is issuing. PyTorch allocates when the host issues an operation, and the host
/// runs ahead of the GPU: drawn by the host's clock, most of a step's memory would seem to be its first moments'.
class DeviceClock {
 public:
  DeviceClock(timeline::Timeline const& timeline, timeline::TrackId track) {
    for (auto const& span : reports::spans_of(timeline, track)) {
      if (!program::is_compute(span.kind)) continue;
      issues_.push_back(span.issue);
      starts_.push_back(std::max(span.start, starts_.empty() ? Time{} : starts_.back()));
    }
  }
  /// The start of the last kernel that the host had issued by then; the host's own time where that is later.
  [[nodiscard]] Time at(Time host) const {
    auto const issued = std::ranges::upper_bound(issues_, host) - issues_.begin();
    return issued == 0 ? host : std::max(host, starts_[static_cast<std::size_t>(issued) - 1]);
  }

 private:
  std::vector<Time> issues_;  // of kernels, in their order
  std::vector<Time> starts_;  // the latest of those issued so far
};

/// Of points that are less than `least` apart the one at which most is allocated, at the time of the first of them.
std::vector<MemoryPoint> thinned(std::vector<MemoryPoint> const& points, Duration least) {
  auto shown = std::vector<MemoryPoint>{};
  for (auto const& point : points) {
    if (shown.empty() || point.time - shown.back().time >= least)
      shown.push_back(point);
    else if (reports::allocated(point.held) > reports::allocated(shown.back().held))
      shown.back().held = point.held;
  }
  return shown;
}

/// What is held over the step, by the device's clock.
struct MemoryOverTime {
  std::vector<MemoryPoint> points;
  Duration lead;  ///< of the host, at most

  MemoryOverTime(timeline::Timeline const& timeline, timeline::TrackId track, DeviceClock const& clock) {
    auto curve = reports::memory_curve(timeline, track, program::MemorySpace::kDevice);
    for (auto& point : curve) {
      auto const time = clock.at(point.time);
      lead = std::max(lead, time - point.time);
      point.time = time;
    }
    if (!curve.empty()) curve.push_back({timeline.step_time, curve.back().held});
    points = thinned(curve, timeline.step_time / kMomentsShown);
  }
};

Bytes most_held(std::vector<MemoryPoint> const& points) {
  auto most = Bytes{};
  for (auto const& point : points) most = std::max(most, reports::total(point.held));
  return most;
}

/// "25.5 GiB are allocated at the peak, at layer.31.backward/mlp.up; the device has 79.1 GiB. …"
std::string peak_text(Summary const& summary) {
  auto text = fmt::format("{} are allocated at the peak, {}", reports::memory_text(summary.peak.total()),
                          summary.peak.at.empty() ? "before the first operation" : "at " + summary.peak.at);
  if (summary.capacity > Bytes{}) text += fmt::format("; the device has {}", reports::memory_text(summary.capacity));
  if (summary.allocator)
    text += fmt::format(". With what the caching allocator holds beyond that, {} are in use at most",
                        reports::memory_text(summary.reserved_peak.total()));
  return text + ".";
}

}  // namespace

reports::Chart memory_over_time_chart(timeline::Timeline const& timeline, Summary const& summary, std::string id,
                                      std::string title) {
  auto const clock = DeviceClock{timeline, summary.peak.track};
  auto const [points, lead] = MemoryOverTime{timeline, summary.peak.track, clock};
  auto const time = time_unit_for(timeline.step_time);
  auto const memory = reports::memory_unit_for(std::max(most_held(points), summary.capacity));
  auto chart = reports::Chart{.id = std::move(id), .title = std::move(title), .is_stacked = true};
  chart.text = fmt::format(
      "Drawn when the GPU comes to an operation. PyTorch allocates when the host issues it, here up to {} earlier.",
      reports::time_text(lead));
  chart.x = {.name = "time", .unit = time.name};
  chart.y = {.name = "memory", .unit = std::string{memory.name}};
  for (std::size_t i = 0; i < kEnumSize<MemoryCategory>; ++i) {
    if (std::ranges::all_of(points, [i](auto const& point) { return point.held[i] == Bytes{}; })) continue;
    auto series = reports::Series{.name = words_of(static_cast<MemoryCategory>(i)), .style = SeriesStyle::kSteps};
    for (auto const& point : points)
      series.points.push_back({.x = number_in(point.time, time), .y = number_in(point.held[i], memory)});
    chart.series.push_back(std::move(series));
  }
  chart.x_marks = {{.at = number_in(clock.at(summary.peak.time), time),
                    .text = "peak: " + reports::memory_text(summary.peak.total())}};
  if (summary.capacity > Bytes{}) chart.y_marks = {{.at = number_in(summary.capacity, memory), .text = "capacity"}};
  return chart;
}

reports::Chart memory_waterfall_chart(Summary const& summary, std::string id, std::string title) {
  auto const unit = reports::memory_unit_for(std::max(summary.reserved_peak.total(), summary.capacity));
  auto chart = reports::Chart{.id = std::move(id), .title = std::move(title), .text = peak_text(summary)};
  chart.x = {.name = "memory", .unit = std::string{unit.name}};
  chart.y = {.name = "category"};
  auto series = reports::Series{.name = "held at the peak", .style = SeriesStyle::kSpans};
  auto const add = [&](std::string name, Bytes from, Bytes size) {
    series.points.push_back({.x = number_in(from, unit),
                             .y = static_cast<double>(chart.y.categories.size()),
                             .note = reports::memory_text(size)});
    series.x_ends.push_back(number_in(from + size, unit));
    chart.y.categories.push_back(std::move(name));
  };
  auto below = Bytes{};
  for (auto const category : reports::largest_categories(summary.peak.held)) {
    auto const held = summary.peak.held[static_cast<std::size_t>(category)];
    add(words_of(category), below, held);
    below += held;
  }
  add("allocated", {}, below);
  if (summary.allocator) add("in use", {}, summary.reserved_peak.total());
  if (summary.capacity > Bytes{}) chart.x_marks = {{.at = number_in(summary.capacity, unit), .text = "capacity"}};
  chart.series.push_back(std::move(series));
  return chart;
}

namespace {

/// What each strategy holds at its peak, beside the others.
reports::Chart peaks_chart(Answered const& question, std::vector<std::size_t> places) {
  std::ranges::sort(places);
  auto most = Bytes{};
  for (auto const i : places) {
    auto const& summary = question.run(i)->summary;
    most = std::max({most, summary.reserved_peak.total(), summary.capacity});
  }
  auto const unit = reports::memory_unit_for(most);
  auto chart = reports::Chart{.id = "memory-peaks", .title = "What is allocated at the peak", .is_stacked = true};
  chart.y = {.name = "memory", .unit = std::string{unit.name}};
  for (auto const i : places) chart.x.categories.push_back(question.scenarios[i].strategy_title);
  for (std::size_t category = 0; category < kEnumSize<MemoryCategory>; ++category) {
    auto series = reports::Series{.name = words_of(static_cast<MemoryCategory>(category)), .style = SeriesStyle::kBars};
    for (std::size_t i = 0; i < places.size(); ++i) {
      auto const held = question.run(places[i])->summary.peak.held[category];
      if (held > Bytes{})
        series.points.push_back(
            {.x = static_cast<double>(i), .y = number_in(held, unit), .note = reports::memory_text(held)});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  auto const capacity = question.run(places.front())->summary.capacity;
  if (capacity > Bytes{}) chart.y_marks = {{.at = number_in(capacity, unit), .text = "capacity"}};
  return chart;
}

}  // namespace

reports::Section memory_section(Answered const& question) {
  auto section = reports::Section{.title = "Memory"};
  section.text =
      "Of the rank that holds most: what is allocated at the peak, each category on top of those above it, and all of "
      "it over the step.";
  auto places = question.best_first();
  std::erase_if(places, [&](std::size_t i) { return !question.run(i)->summary.peak.track.exists(); });
  if (places.size() > 1) section.charts.push_back(peaks_chart(question, places));
  for (auto const i : places) {
    auto const* run = question.run(i);
    auto const& title = question.scenarios[i].strategy_title;
    auto const add = [&](reports::Chart chart) {
      chart.fold = question.fold(i);
      section.charts.push_back(std::move(chart));
    };
    add(memory_waterfall_chart(run->summary, fmt::format("memory-peak-{}", i + 1), title + ": at the peak"));
    add(memory_over_time_chart(run->timeline, run->summary, fmt::format("memory-time-{}", i + 1),
                               title + ": over the step"));
  }
  return section;
}

}  // namespace twinstep::pages
