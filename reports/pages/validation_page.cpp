#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "reports/pages/pages.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

using reports::SeriesStyle;

/// A member's number; nothing where it is null.
std::optional<double> number_at(io::Node const& object, std::string_view key) {
  auto const found = object.find(key);
  return found ? std::optional{found->number()} : std::nullopt;
}

std::string percent_at(io::Node const& object, std::string_view key) {
  return reports::percent_text(number_at(object, key));
}

/// Measured records of one unit: measured over predicted, by family, and the line where both are equal.
reports::Chart scatter(std::vector<io::Node> const& records, std::string const& unit, std::size_t place) {
  auto chart =
      reports::Chart{.id = fmt::format("measured-{}", place + 1), .title = "Predicted beside measured, in " + unit};
  chart.x = {.name = "measured", .unit = unit, .is_logarithmic = true};
  chart.y = {.name = "predicted", .unit = unit, .is_logarithmic = true};
  auto families = std::map<std::string, reports::Series>{};
  auto ends = std::pair{std::numeric_limits<double>::max(), 0.0};
  for (auto const& record : records) {
    auto const measured = record.at("measured").number();
    auto& series = families[std::string{record.at("family").string()}];
    series.points.push_back({.x = measured,
                             .y = record.at("predicted").number(),
                             .y_low = number_at(record, "low"),
                             .y_high = number_at(record, "high"),
                             .note = fmt::format("{}{}", record.at("id").string(),
                                                 record.at("fitted").boolean() ? ", seen by the fit" : "")});
    ends = {std::min(ends.first, measured), std::max(ends.second, measured)};
  }
  chart.series.push_back({.name = "predicted = measured",
                          .points = {{.x = ends.first, .y = ends.first}, {.x = ends.second, .y = ends.second}}});
  for (auto& [family, series] : families) {
    series.name = family;
    series.style = SeriesStyle::kPoints;
    chart.series.push_back(std::move(series));
  }
  return chart;
}

/// Records that have both numbers above zero, by unit.
std::map<std::string, std::vector<io::Node>> scored(io::Node const& document) {
  auto by_unit = std::map<std::string, std::vector<io::Node>>{};
  for (auto const& record : document.at("records").elements())
    if (number_at(record, "predicted").value_or(0) > 0 && number_at(record, "measured").value_or(0) > 0)
      by_unit[std::string{record.at("unit").string()}].push_back(record);
  return by_unit;
}

/// Sweeps over sizes that have a chart of their own, at most: those that were predicted worst.
constexpr std::size_t kMostSweeps = 8;

/// A sweep over message sizes: what was measured over the line that was predicted.
struct MeasuredSweep {
  std::string id;
  std::vector<io::Node> records;

  [[nodiscard]] double mean_error() const {
    auto sum = 0.0;
    for (auto const& record : records) sum += std::abs(number_at(record, "error").value_or(0));
    return sum / static_cast<double>(records.size());
  }
};

/// The sweeps of records that have a size, the worst first.
std::vector<MeasuredSweep> sweeps_of(std::map<std::string, std::vector<io::Node>> const& by_unit) {
  auto sweeps = std::vector<MeasuredSweep>{};
  for (auto const& [unit, records] : by_unit)
    for (auto const& record : records) {
      if (number_at(record, "size_bytes").value_or(0) <= 0) continue;
      auto const id = fmt::format("{} ({})", record.at("id").string(), unit);
      if (sweeps.empty() || sweeps.back().id != id) sweeps.push_back({id, {}});
      sweeps.back().records.push_back(record);
    }
  std::erase_if(sweeps, [](MeasuredSweep const& sweep) { return sweep.records.size() < 2; });
  std::ranges::stable_sort(sweeps, std::greater{}, &MeasuredSweep::mean_error);
  return sweeps;
}

reports::Chart sweep_chart(MeasuredSweep const& sweep, std::size_t place) {
  auto chart = reports::Chart{.id = fmt::format("sweep-{}", place + 1), .title = sweep.id};
  chart.text = fmt::format("Mean error {}.", reports::percent_text(sweep.mean_error()));
  chart.x = {.name = "message size", .unit = "B", .is_logarithmic = true};
  chart.y = {.name = "time", .unit = std::string{sweep.records.front().at("unit").string()}, .is_logarithmic = true};
  auto predicted = reports::Series{.name = "predicted"};
  auto measured = reports::Series{.name = "measured", .style = SeriesStyle::kPoints};
  for (auto const& record : sweep.records) {
    auto const x = record.at("size_bytes").number();
    predicted.points.push_back({.x = x,
                                .y = record.at("predicted").number(),
                                .y_low = number_at(record, "low"),
                                .y_high = number_at(record, "high"),
                                .note = {}});
    measured.points.push_back({.x = x,
                               .y = record.at("measured").number(),
                               .y_low = {},
                               .y_high = {},
                               .note = std::string{record.at("note").string()}});
  }
  chart.series = {std::move(predicted), std::move(measured)};
  return chart;
}

/// Measured points over predicted lines with their intervals.
reports::Section sweeps_section(std::vector<MeasuredSweep> const& sweeps) {
  auto section = reports::Section{.title = "Measured over predicted, by message size"};
  section.text = "Lines are predicted, bands hold nine measurements of ten.";
  if (sweeps.size() > kMostSweeps)
    section.text +=
        fmt::format(" Shown are the {} of {} sweeps that were predicted worst.", kMostSweeps, sweeps.size());
  for (std::size_t i = 0; i < std::min(sweeps.size(), kMostSweeps); ++i)
    section.charts.push_back(sweep_chart(sweeps[i], i));
  return section;
}

reports::Chart error_bars(std::vector<io::Node> const& families) {
  auto chart = reports::Chart{.id = "errors", .title = "Mean error by family, beside the naive baseline's"};
  chart.y = {.name = "mean absolute error", .unit = "%"};
  auto ours = reports::Series{.name = "twinstep", .style = SeriesStyle::kBars};
  auto baseline = reports::Series{.name = "baseline", .style = SeriesStyle::kBars};
  for (auto const& family : families) {
    auto const mape = number_at(family, "mape");
    if (!mape) continue;
    auto const x = static_cast<double>(chart.x.categories.size());
    chart.x.categories.emplace_back(family.at("family").string());
    ours.points.push_back({.x = x, .y = *mape * 100, .note = fmt::format("{} records", family.at("count").integer())});
    if (auto const naive = number_at(family, "baseline_mape")) baseline.points.push_back({.x = x, .y = *naive * 100});
  }
  chart.series = {std::move(ours), std::move(baseline)};
  return chart;
}

reports::PageTable families_table(std::vector<io::Node> const& families) {
  auto table = reports::PageTable{
      .title = "Families",
      .headers = {"family", "records", "skipped", "mean error", "worst", "baseline's mean", "rank correlation"}};
  for (auto const& family : families) {
    auto const correlation = number_at(family, "rank_correlation");
    table.rows.push_back({std::string{family.at("family").string()}, fmt::format("{}", family.at("count").integer()),
                          fmt::format("{}", family.at("skipped").integer()), percent_at(family, "mape"),
                          percent_at(family, "worst"), percent_at(family, "baseline_mape"),
                          correlation ? fmt::format("{:.2f}", *correlation) : std::string{reports::kNoValue}});
  }
  return table;
}

}  // namespace

reports::Page validation_page(io::Node const& document) {
  auto const families = document.at("families").elements();
  auto page =
      reports::Page{.title = "Predictions beside measurements", .text = std::string{document.at("what").string()}};
  auto section = reports::Section{.title = "Predicted and measured"};
  section.text = "Points on the line are predicted exactly; bars say where nine measurements of ten would lie.";
  auto const by_unit = scored(document);
  for (auto const& [unit, records] : by_unit) section.charts.push_back(scatter(records, unit, section.charts.size()));
  page.sections.push_back(std::move(section));
  if (auto const sweeps = sweeps_of(by_unit); !sweeps.empty()) page.sections.push_back(sweeps_section(sweeps));
  auto errors = reports::Section{.title = "Errors by family", .tables = {families_table(families)}};
  errors.charts.push_back(error_bars(families));
  for (auto const& finding : document.at("findings").elements())
    errors.text += fmt::format("{}{}.", errors.text.empty() ? "" : " ", finding.string());
  page.sections.push_back(std::move(errors));
  return page;
}

}  // namespace twinstep::pages
