#include <map>

#include <fmt/format.h>

#include "reports/calibration.hpp"
#include "reports/pages/pages.hpp"

namespace twinstep::pages {
namespace {

using reports::CalibrationReport;
using reports::error_text;
using reports::Section;

std::string value_text(double value, std::string const& unit) {
  return unit.empty() ? fmt::format("{:.3g}", value) : fmt::format("{:.3g} {}", value, unit);
}

/// What was fitted; and what stays as it was, by the reason why.
Section numbers_section(CalibrationReport const& report) {
  auto table = reports::PageTable{.headers = {"fitted", "before", "value", "±", "points"}};
  auto kept = std::map<std::string, std::string>{};
  for (auto const& each : report.numbers) {
    auto const before = value_text(each.before, each.unit);
    if (each.left_out.empty()) {
      table.rows.push_back({each.path, before, value_text(each.value, each.unit), value_text(each.spread, each.unit),
                            std::to_string(each.points)});
      continue;
    }
    auto& names = kept[each.left_out];
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", each.path, before);
  }
  auto section = Section{.title = "Numbers", .tables = {std::move(table)}};
  for (auto const& [reason, names] : kept)
    section.notes.push_back(fmt::format("Not fitted, kept as they were: {}: {}", reason, names));
  return section;
}

Section sweeps_section(reports::Accuracy const& accuracy) {
  return {.title = "Collectives",
          .text = "What the constants leave is corrected by size, where it was measured.",
          .tables = {predictor_table(accuracy)},
          .notes = interval_notes(accuracy)};
}

Section kernels_section(CalibrationReport const& report) {
  auto table = reports::PageTable{.headers = {"mean error, %", "points", "before", "fitted", "held out"}};
  for (auto const& each : report.kernels)
    table.rows.push_back({each.kind, std::to_string(each.points), error_text(each.before), error_text(each.fitted),
                          error_text(each.held_out)});
  return {.title = "Kernels and steps", .tables = {std::move(table)}};
}

}  // namespace

reports::Page calibration_page(CalibrationReport const& report) {
  auto page = reports::Page{.title = report.out, .text = fmt::format("{}, {}.", report.cluster, report.calibration)};
  page.sections.push_back(numbers_section(report));
  if (!report.accuracy.predictors.empty()) page.sections.push_back(sweeps_section(report.accuracy));
  if (!report.kernels.empty()) page.sections.push_back(kernels_section(report));
  if (!report.skipped.empty()) page.sections.push_back({.title = "Skipped", .notes = report.skipped});
  return page;
}

}  // namespace twinstep::pages
