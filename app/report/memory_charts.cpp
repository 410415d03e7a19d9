#include "app/report/memory_charts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/report/scale.hpp"
#include "app/report/sections.hpp"
#include "reports/memory.hpp"

namespace twinstep::app {
namespace {

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

/// Of the points in each of `kMomentsShown` equal stretches of time the one that holds most.
std::vector<MemoryPoint> thinned(std::vector<MemoryPoint> points) {
  if (points.size() <= static_cast<std::size_t>(kMomentsShown)) return points;
  auto const stretch = std::max(points.back().time.count() / kMomentsShown, std::int64_t{1});
  auto shown = std::vector<MemoryPoint>{};
  auto last = std::int64_t{-1};
  for (auto& point : points) {
    auto const place = point.time.count() / stretch;
    if (place != last)
      shown.push_back(std::move(point));
    else if (reports::total(point.held) > reports::total(shown.back().held))
      shown.back() = std::move(point);
    last = place;
  }
  return shown;
}

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
  auto const points = thinned(reports::memory_curve(timeline, summary.peak.track, program::MemorySpace::kDevice));
  auto const time = time_unit_for(points.empty() ? Duration{} : points.back().time);
  auto const memory = reports::memory_unit_for(std::max(most_held(points), summary.capacity));
  auto chart = reports::Chart{.id = std::move(id), .title = std::move(title), .is_stacked = true};
  chart.x = {.name = "time of the host", .unit = time.name};
  chart.y = {.name = "memory", .unit = std::string{memory.name}};
  for (std::size_t i = 0; i < kEnumSize<MemoryCategory>; ++i) {
    if (std::ranges::all_of(points, [i](auto const& point) { return point.held[i] == Bytes{}; })) continue;
    auto series = reports::Series{.name = words_of(static_cast<MemoryCategory>(i)), .style = SeriesStyle::kSteps};
    for (auto const& point : points)
      series.points.push_back({.x = number_in(point.time, time), .y = number_in(point.held[i], memory)});
    chart.series.push_back(std::move(series));
  }
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

reports::Section memory_section(Question const& question) {
  auto section = reports::Section{.title = "Memory"};
  section.text =
      "Of the rank that holds most: first what is allocated at the peak, each category on top of those above "
      "it, then all of it over the step.";
  for (std::size_t i = 0; i < question.outcomes.size(); ++i) {
    auto const* run = question.run(i);
    if (run == nullptr || !run->summary.peak.track.exists()) continue;
    auto const& title = question.scenarios[i].strategy_title;
    section.charts.push_back(
        memory_waterfall_chart(run->summary, fmt::format("memory-peak-{}", i + 1), title + ": at the peak"));
    section.charts.push_back(memory_over_time_chart(run->timeline, run->summary, fmt::format("memory-time-{}", i + 1),
                                                    title + ": over the step"));
  }
  return section;
}

}  // namespace twinstep::app
