#include "reports/render/calibration_text.hpp"

#include <map>

#include <fmt/format.h>

#include "reports/accuracy_json.hpp"
#include "reports/quantity_text.hpp"
#include "reports/render/page_table_text.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

using io::JsonWriter;
namespace {

using Number = CalibrationReport::Number;

std::string value_text(double value, std::string const& unit) {
  return unit.empty() ? fmt::format("{:.3g}", value) : fmt::format("{:.3g} {}", value, unit);
}

std::string number_table(std::vector<Number> const& numbers, TextStyle const& style) {
  auto table = Table{{{"fitted", Align::kLeft, true}, {"before"}, {"value"}, {"±"}, {"points"}}};
  for (auto const& each : numbers)
    if (each.left_out.empty())
      table.add_row({each.path, value_text(each.before, each.unit), value_text(each.value, each.unit),
                     value_text(each.spread, each.unit), std::to_string(each.points)});
  return table.render(style);
}

/// What stays as it was, by the reason why.
std::string left_out_text(std::vector<Number> const& numbers, TextStyle const& style) {
  auto kept = std::map<std::string, std::string>{};
  for (auto const& each : numbers) {
    if (each.left_out.empty()) continue;
    auto& names = kept[each.left_out];
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", each.path, value_text(each.before, each.unit));
  }
  auto text = std::string{};
  for (auto const& [reason, names] : kept) text += wrapped(fmt::format("{}: {}", reason, names), "  ", style);
  return text.empty() ? "" : "\nNot fitted, kept as they were:\n" + text;
}

/// What a step needs besides, where only collectives were measured.
std::string next_text(CalibrationReport const& report, TextStyle const& style) {
  if (!report.kernels.empty() || report.sweeps.empty()) return {};
  return "\n" + wrapped(
                    "Kernels are not calibrated. For steps: twinstep measure compute --like SCENARIO.json --out "
                    "kernels.json, then calibrate with both files.",
                    "", style);
}

std::string kernel_table(CalibrationReport const& report, TextStyle const& style) {
  if (report.kernels.empty()) return {};
  auto table = Table{{{"mean error, %", Align::kLeft}, {"points"}, {"before"}, {"fitted"}, {"held out"}}};
  for (auto const& each : report.kernels)
    table.add_row({each.kind, std::to_string(each.points), error_text(each.before), error_text(each.fitted),
                   error_text(each.held_out)});
  return "\n" + table.render(style);
}

std::string sweep_table(CalibrationReport const& report, TextStyle const& style) {
  if (report.accuracy.predictors.empty()) return {};
  auto text = "\nWhat the constants leave is corrected by size, where it was measured:\n" +
              page_table_text(predictor_table(report.accuracy), style);
  for (auto const& note : interval_notes(report.accuracy)) text += wrapped(note, "", style);
  return text;
}

void write(JsonWriter& out, CalibrationReport::Kernels const& kernels) {
  out.begin_object();
  out.member("kind", kernels.kind);
  out.member("points", kernels.points);
  out.member("before", kernels.before);
  out.member("fitted", kernels.fitted);
  out.member("held_out", kernels.held_out);
  out.end_object();
}

void write(JsonWriter& out, Number const& number) {
  out.begin_object();
  out.member("path", number.path);
  out.member("unit", number.unit);
  out.member("before", number.before);
  out.member("value", number.value);
  out.member("spread", number.spread);
  out.member("points", number.points);
  out.member("left_out", number.left_out);
  out.end_object();
}

void write(JsonWriter& out, CalibrationReport::Sweep const& sweep) {
  out.begin_object();
  out.member("collective", sweep.collective);
  out.member("ranks", sweep.ranks);
  out.member("nodes", sweep.nodes);
  out.member("smallest_bytes", sweep.smallest);
  out.member("largest_bytes", sweep.largest);
  out.end_object();
}

}  // namespace

std::string calibration_text(CalibrationReport const& report, TextStyle const& style) {
  auto text = wrapped(fmt::format("{}: {}, {}.", report.out, report.cluster, report.calibration), "", style) + "\n" +
              number_table(report.numbers, style) + left_out_text(report.numbers, style) + sweep_table(report, style) +
              kernel_table(report, style) + next_text(report, style);
  for (auto const& each : report.skipped) text += wrapped("skipped: " + each, "", style);
  return text;
}

std::string calibration_json(CalibrationReport const& report) {
  auto out = JsonWriter{};
  out.begin_object();
  out.member("cluster", report.cluster);
  out.member("out", report.out);
  out.member("calibration", report.calibration);
  out.member("data_sha256", report.data_hash);
  out.key("numbers");
  out.begin_array();
  for (auto const& each : report.numbers) write(out, each);
  out.end_array();
  out.key("sweeps");
  out.begin_array();
  for (auto const& each : report.sweeps) write(out, each);
  out.end_array();
  out.key("predictors");
  out.begin_array();
  for (auto const& each : report.accuracy.predictors) write_predictor(out, report.accuracy, each);
  out.end_array();
  out.key("kernels");
  out.begin_array();
  for (auto const& each : report.kernels) write(out, each);
  out.end_array();
  out.key("skipped");
  out.begin_array();
  for (auto const& each : report.skipped) out.value(each);
  out.end_array();
  out.end_object();
  return std::move(out).finish();
}

}  // namespace twinstep::reports
