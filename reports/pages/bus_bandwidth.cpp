#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

double gigabytes_per_second(BytesPerSecond rate) {
  return rate.count() * 1e-9;
}

std::optional<double> gigabytes_per_second(std::optional<BytesPerSecond> rate) {
  return rate ? std::optional{gigabytes_per_second(*rate)} : std::nullopt;
}

reports::ChartPoint point_of(CollectiveSample const& sample, std::string note) {
  return {.x = static_cast<double>(sample.size.count()),
          .y = gigabytes_per_second(sample.bus),
          .y_low = gigabytes_per_second(sample.low),
          .y_high = gigabytes_per_second(sample.high),
          .note = std::move(note)};
}

/// The line, and a region for every stretch of sizes that are done in one way.
void add_curve(reports::Chart& chart, std::vector<CollectiveSample> const& samples) {
  auto series = reports::Series{.name = "bus bandwidth"};
  for (auto const& sample : samples) {
    series.points.push_back(point_of(sample, sample.way));
    add_to_regions(chart.x_marks, series.points.back().x, sample.way);
  }
  chart.series.push_back(std::move(series));
}

void add_messages(reports::Chart& chart, StrategyMessages const& of_step) {
  auto series = reports::Series{.name = of_step.strategy, .style = reports::SeriesStyle::kPoints};
  for (auto const& [count, sample] : of_step.messages)
    series.points.push_back(
        point_of(sample, fmt::format("{} of {} a step, {}", count, reports::memory_text(sample.size), sample.way)));
  chart.series.push_back(std::move(series));
}

std::string place_text(CollectiveCurve const& curve) {
  auto const beside =
      curve.groups_per_node > 1 ? fmt::format(", {} such groups at once", curve.groups_per_node) : std::string{};
  return fmt::format("{} ranks on {} node{}{}", curve.ranks, curve.nodes, curve.nodes == 1 ? "" : "s", beside);
}

reports::Chart chart_of(CollectiveCurve const& curve, std::size_t place) {
  auto chart = reports::Chart{.id = fmt::format("bus-bandwidth-{}", place + 1)};
  chart.title = fmt::format("{} of {}, {}", name_of(curve.kind), name_of(curve.type), place_text(curve));
  chart.x = {.name = "message size", .unit = "B", .is_logarithmic = true};
  chart.y = {.name = "bus bandwidth", .unit = "GB/s"};
  add_curve(chart, curve.samples);
  for (auto const& of_step : curve.strategies) add_messages(chart, of_step);
  return chart;
}

}  // namespace

reports::Section bus_bandwidth_section(CloserLook const& look) {
  auto section = reports::Section{.title = "Bus bandwidth of the step's collectives"};
  if (look.collectives.empty()) {
    section.text = "The steps issue no collectives.";
    return section;
  }
  section.text =
      "Each collective alone on the machine, as nccl-tests counts its bandwidth, with the algorithm and "
      "protocol that the library takes at each size; points are the messages that the steps issue.";
  for (std::size_t i = 0; i < look.collectives.size(); ++i) section.charts.push_back(chart_of(look.collectives[i], i));
  return section;
}

}  // namespace twinstep::pages
