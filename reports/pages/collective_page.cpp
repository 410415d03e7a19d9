#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/pages.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

/// The bus bandwidth that a row would have at another time.
double rescaled(double rate, double time, double other) {
  return rate * time / other;
}

reports::ChartPoint point_of(io::Node const& row) {
  auto const time = row.at("time_us").number();
  auto point = reports::ChartPoint{
      .x = row.at("size_bytes").number(),
      .y = row.at("busbw_GBps").number(),
      .note = fmt::format("{}, {}, {} channels, {}", row.at("algorithm").string(), row.at("protocol").string(),
                          row.at("channels").integer(), reports::time_text(stated_time(Seconds{time * 1e-6})))};
  if (auto const high = row.find("high_us")) point.y_low = rescaled(point.y, time, high->number());
  if (auto const low = row.find("low_us")) point.y_high = rescaled(point.y, time, low->number());
  return point;
}

std::vector<std::string> table_row(io::Node const& row) {
  return {fmt::format("{}", row.at("size_bytes").integer()),
          fmt::format("{:.2f}", row.at("time_us").number()),
          fmt::format("{:.2f}", row.at("algbw_GBps").number()),
          fmt::format("{:.2f}", row.at("busbw_GBps").number()),
          std::string{row.at("algorithm").string()},
          std::string{row.at("protocol").string()},
          fmt::format("{}", row.at("channels").integer())};
}

}  // namespace

reports::Page collective_page(io::Node const& document) {
  auto const text = [&](std::string_view key) { return std::string{document.at(key).string()}; };
  auto page = reports::Page{.title = fmt::format("{} of {} ranks on {}", text("collective"),
                                                 document.at("ranks").integer(), text("cluster"))};
  page.facts = {{"calibration", text("calibration")},
                {"library", text("library") + " " + text("library_version")},
                {"fidelity", text("fidelity")}};
  auto chart = reports::Chart{.id = "bus-bandwidth", .title = page.title};
  chart.x = {.name = "message size", .unit = "B", .is_logarithmic = true};
  chart.y = {.name = "bus bandwidth", .unit = "GB/s"};
  auto series = reports::Series{.name = "predicted"};
  auto table = reports::PageTable{
      .title = "Sizes", .headers = {"bytes", "us", "algbw GB/s", "busbw GB/s", "algorithm", "protocol", "channels"}};
  for (auto const& row : document.at("rows").elements()) {
    series.points.push_back(point_of(row));
    add_to_regions(chart.x_marks, series.points.back().x,
                   fmt::format("{}, {}", row.at("algorithm").string(), row.at("protocol").string()));
    table.rows.push_back(table_row(row));
  }
  chart.series.push_back(std::move(series));
  page.sections.push_back({.title = "Bus bandwidth", .tables = {std::move(table)}, .charts = {std::move(chart)}});
  return page;
}

}  // namespace twinstep::pages
