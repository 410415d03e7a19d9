#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "reports/accuracy.hpp"
#include "reports/pages/pages.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using reports::Accuracy;
using reports::AccuracyFamily;
using reports::AccuracyRecord;
using reports::SeriesStyle;
using Records = std::vector<AccuracyRecord const*>;

/// Measured records of one unit: measured over predicted, by family, and the line where both are equal.
reports::Chart scatter(Records const& records, std::string const& unit, std::size_t place) {
  auto chart =
      reports::Chart{.id = fmt::format("measured-{}", place + 1), .title = "Predicted beside measured, in " + unit};
  chart.x = {.name = "measured", .unit = unit, .is_logarithmic = true};
  chart.y = {.name = "predicted", .unit = unit, .is_logarithmic = true};
  auto families = std::map<std::string, reports::Series>{};
  auto ends = std::pair{std::numeric_limits<double>::max(), 0.0};
  for (auto const* const record : records) {
    auto const measured = *record->measured;
    families[record->family].points.push_back(
        {.x = measured,
         .y = *record->predicted,
         .y_low = record->low,
         .y_high = record->high,
         .note = fmt::format("{}{}", record->id, record->fitted ? ", seen by the fit" : "")});
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
std::map<std::string, Records> scored(Accuracy const& accuracy) {
  auto by_unit = std::map<std::string, Records>{};
  for (auto const& record : accuracy.records)
    if (record.predicted.value_or(0) > 0 && record.measured.value_or(0) > 0) by_unit[record.unit].push_back(&record);
  return by_unit;
}

/// Sweeps over sizes that have a chart of their own, at most: those that were predicted worst.
constexpr std::size_t kMostSweeps = 8;

/// A sweep over message sizes: what was measured over the line that was predicted.
struct MeasuredSweep {
  std::string id;
  Records records;

  [[nodiscard]] double mean_error() const {
    auto sum = 0.0;
    for (auto const* const record : records) sum += std::abs(record->error().value_or(0));
    return sum / static_cast<double>(records.size());
  }
};

/// The sweeps of records that have a size, the worst first.
std::vector<MeasuredSweep> sweeps_of(std::map<std::string, Records> const& by_unit) {
  auto sweeps = std::vector<MeasuredSweep>{};
  for (auto const& [unit, records] : by_unit)
    for (auto const* const record : records) {
      if (record->size_bytes.value_or(0) <= 0) continue;
      auto const id = fmt::format("{} ({})", record->id, unit);
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
  chart.y = {.name = "time", .unit = sweep.records.front()->unit, .is_logarithmic = true};
  auto predicted = reports::Series{.name = "predicted"};
  auto measured = reports::Series{.name = "measured", .style = SeriesStyle::kPoints};
  for (auto const* const record : sweep.records) {
    auto const x = static_cast<double>(*record->size_bytes);
    predicted.points.push_back(
        {.x = x, .y = *record->predicted, .y_low = record->low, .y_high = record->high, .note = {}});
    measured.points.push_back({.x = x, .y = *record->measured, .y_low = {}, .y_high = {}, .note = record->note});
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

reports::Chart error_bars(std::vector<AccuracyFamily> const& families) {
  auto chart = reports::Chart{.id = "errors", .title = "Mean error by family, beside the naive baseline's"};
  chart.y = {.name = "mean absolute error", .unit = "%"};
  auto ours = reports::Series{.name = "twinstep", .style = SeriesStyle::kBars};
  auto baseline = reports::Series{.name = "baseline", .style = SeriesStyle::kBars};
  for (auto const& family : families) {
    if (!family.mape) continue;
    auto const x = static_cast<double>(chart.x.categories.size());
    chart.x.categories.push_back(family.family);
    ours.points.push_back({.x = x, .y = *family.mape * 100, .note = fmt::format("{} records", family.count)});
    if (family.baseline_mape) baseline.points.push_back({.x = x, .y = *family.baseline_mape * 100});
  }
  chart.series = {std::move(ours), std::move(baseline)};
  return chart;
}

reports::PageTable families_table(Accuracy const& accuracy) {
  using reports::error_text;
  auto table = reports::PageTable{
      .headers = {accuracy.group, "records", "skipped", "error, %", "worst, %", "rank corr.", accuracy.baseline}};
  for (auto const& family : accuracy.families)
    table.rows.push_back(
        {family.family, fmt::format("{}", family.count), fmt::format("{}", family.skipped), error_text(family.mape),
         error_text(family.worst),
         family.rank_correlation ? fmt::format("{:.3f}", *family.rank_correlation) : std::string{reports::kNoValue},
         error_text(family.baseline_mape)});
  return table;
}

}  // namespace

reports::Page validation_page(Accuracy const& accuracy) {
  auto page = reports::Page{.title = "Predictions beside measurements", .text = accuracy.what};
  if (!accuracy.predictors.empty())
    page.sections.push_back({.title = "Ways to predict",
                             .tables = {predictor_table(accuracy)},
                             .charts = {},
                             .notes = interval_notes(accuracy)});
  auto section = reports::Section{.title = "Predicted and measured"};
  section.text = "Points on the line are predicted exactly; bars say where nine measurements of ten would lie.";
  auto const by_unit = scored(accuracy);
  for (auto const& [unit, records] : by_unit) section.charts.push_back(scatter(records, unit, section.charts.size()));
  if (!section.charts.empty()) page.sections.push_back(std::move(section));
  if (auto const sweeps = sweeps_of(by_unit); !sweeps.empty()) page.sections.push_back(sweeps_section(sweeps));
  page.sections.push_back({.title = fmt::format("Errors by {}", accuracy.group),
                           .tables = {families_table(accuracy)},
                           .charts = {error_bars(accuracy.families)},
                           .notes = accuracy.findings});
  return page;
}

}  // namespace twinstep::pages
