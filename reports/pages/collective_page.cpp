#include <algorithm>

#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/pages.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using reports::CollectiveSweep;
using reports::kNoValue;
using reports::Section;
using SizeRow = CollectiveSweep::Row;

double gigabytes(BytesPerSecond rate) {
  return rate.count() / 1e9;
}

reports::ChartPoint point_of(SizeRow const& row) {
  auto point = reports::ChartPoint{.x = static_cast<double>(row.size.count()),
                                   .y = gigabytes(row.bus_bandwidth),
                                   .note = fmt::format("{}, {}, {} channels, {}", row.algorithm, row.protocol,
                                                       row.channels, reports::time_text(stated_time(row.time)))};
  if (row.high) point.y_low = point.y * (row.time / *row.high);
  if (row.low) point.y_high = point.y * (row.time / *row.low);
  return point;
}

Section bandwidth_section(CollectiveSweep const& sweep, std::string const& title) {
  auto chart = reports::Chart{.id = "bus-bandwidth", .title = title};
  chart.x = {.name = "message size", .unit = "B", .is_logarithmic = true};
  chart.y = {.name = "bus bandwidth", .unit = "GB/s"};
  auto series = reports::Series{.name = "predicted"};
  auto table = reports::PageTable{
      .title = "Sizes", .headers = {"bytes", "us", "algbw GB/s", "busbw GB/s", "algorithm", "protocol", "channels"}};
  for (auto const& row : sweep.rows) {
    series.points.push_back(point_of(row));
    add_to_regions(chart.x_marks, series.points.back().x, fmt::format("{}, {}", row.algorithm, row.protocol));
    table.rows.push_back({fmt::format("{}", row.size.count()), fmt::format("{:.2f}", row.time.count() * 1e6),
                          fmt::format("{:.2f}", gigabytes(row.algorithm_bandwidth)),
                          fmt::format("{:.2f}", gigabytes(row.bus_bandwidth)), row.algorithm, row.protocol,
                          fmt::format("{}", row.channels)});
  }
  chart.series.push_back(std::move(series));
  return {.title = "Bus bandwidth", .tables = {std::move(table)}, .charts = {std::move(chart)}};
}

/// Adds the busiest link of each kind at the largest size.
void add_links(Section& section, SizeRow const& row) {
  auto table = reports::PageTable{.title = fmt::format("Links at {}", reports::memory_text(row.size)),
                                  .headers = {"busiest link", "bytes", "busy"}};
  for (auto const& link : row.links)
    table.rows.push_back({link.kind, reports::traffic_text(link.bytes), reports::percent_text(link.utilisation)});
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  if (row.messages > 0)
    section.notes.push_back(
        fmt::format("{} messages, {} events", reports::whole_text(row.messages), reports::whole_text(row.events)));
}

Section choice_section(CollectiveSweep::Choice const& choice) {
  auto const time = [](std::optional<Duration> each) {
    return each ? reports::time_text(*each) : std::string{kNoValue};
  };
  auto table = reports::PageTable{.headers = {"algorithm", "channels", "tuner says", "simulated", ""}};
  for (auto const& each : choice.candidates)
    table.rows.push_back({each.way, each.channels ? std::to_string(*each.channels) : std::string{kNoValue},
                          time(each.believed), time(each.simulated), each.remark});
  return {.title = fmt::format("Chosen from at {}", reports::memory_text(choice.size)),
          .tables = {std::move(table)},
          .notes = {choice.reason + "."}};
}

}  // namespace

reports::Page collective_page(CollectiveSweep const& sweep) {
  auto page = reports::Page{.title = fmt::format("{} of {} ranks on {}", sweep.collective, sweep.ranks, sweep.cluster)};
  page.facts = {{"calibration", sweep.calibration},
                {"library", sweep.library + " " + sweep.library_version},
                {"fidelity", sweep.fidelity}};
  page.sections.push_back(bandwidth_section(sweep, page.title));
  if (!sweep.rows.empty()) add_links(page.sections.back(), sweep.rows.back());
  if (auto const beyond = std::ranges::count_if(sweep.rows, &SizeRow::is_extrapolated); beyond > 0)
    page.sections.back().notes.push_back(fmt::format(
        "{} of {} sizes are extrapolated: beyond the sweeps, ranks or sizes that the cluster was calibrated on", beyond,
        sweep.rows.size()));
  for (auto const& choice : sweep.choices) page.sections.push_back(choice_section(choice));
  return page;
}

}  // namespace twinstep::pages
