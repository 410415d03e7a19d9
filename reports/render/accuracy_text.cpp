#include "reports/render/accuracy_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

using io::JsonWriter;
namespace {

std::string family_table(Accuracy const& accuracy, TextStyle const& style) {
  auto table = Table{{{accuracy.group, Align::kLeft, true},
                      {"records"},
                      {"skipped"},
                      {"error, %"},
                      {"worst, %"},
                      {"rank corr."},
                      {accuracy.baseline}}};
  for (auto const& family : accuracy.families) {
    auto const correlation =
        family.rank_correlation ? fmt::format("{:.3f}", *family.rank_correlation) : std::string{kNoValue};
    table.add_row({family.family, std::to_string(family.count), std::to_string(family.skipped), error_text(family.mape),
                   error_text(family.worst), correlation, error_text(family.baseline_mape)});
  }
  return table.render(style);
}

void write_record(JsonWriter& out, AccuracyRecord const& record) {
  out.begin_object();
  out.member("id", record.id);
  out.member("family", record.family);
  out.member("size_bytes", record.size_bytes);
  out.member("predicted", record.predicted);
  out.member("measured", record.measured);
  out.member("unit", record.unit);
  out.member("error", record.error());
  out.member("fitted", record.fitted);
  out.member("low", record.low);
  out.member("high", record.high);
  out.member("note", record.note);
  out.end_object();
}

void write_family(JsonWriter& out, AccuracyFamily const& family) {
  out.begin_object();
  out.member("family", family.family);
  out.member("count", family.count);
  out.member("skipped", family.skipped);
  out.member("mape", family.mape);
  out.member("worst", family.worst);
  out.member("rank_correlation", family.rank_correlation);
  out.member("baseline_mape", family.baseline_mape);
  out.end_object();
}

}  // namespace

std::string error_text(std::optional<double> error) {
  return error ? fmt::format("{:.1f}", *error * 100) : std::string{kNoValue};
}

std::string predictor_table(Accuracy const& accuracy, TextStyle const& style) {
  auto columns = std::vector<Column>{{"median / mean error, %", Align::kLeft, true}};
  for (auto const& size : accuracy.sizes) columns.push_back({size});
  auto table = Table{columns};
  for (auto const& predictor : accuracy.predictors) {
    auto row = std::vector<Cell>{predictor.name};
    for (auto const& figures : predictor.by_size)
      row.emplace_back(fmt::format("{} / {}", error_text(figures.median), error_text(figures.mean)));
    table.add_row(std::move(row));
  }
  auto text = table.render(style);
  for (auto const& predictor : accuracy.predictors) {
    if (!predictor.intervals) continue;
    auto const& its = *predictor.intervals;
    text += wrapped(fmt::format("{}: {:.0f} % of {} points lie in their 90 % interval, in the median ± {:.0f} %",
                                predictor.name, its.inside * 100, its.points, its.median_half_width * 100),
                    "", style);
  }
  return text;
}

void write_predictor(JsonWriter& out, Accuracy const& accuracy, PredictorAccuracy const& predictor) {
  out.begin_object();
  out.member("name", predictor.name);
  out.key("errors");
  out.begin_array();
  for (std::size_t i = 0; i < predictor.by_size.size(); ++i) {
    out.begin_object();
    out.member("sizes", accuracy.sizes[i]);
    out.member("median", predictor.by_size[i].median);
    out.member("mean", predictor.by_size[i].mean);
    out.end_object();
  }
  out.end_array();
  out.member("systems", predictor.systems);
  out.member("worst", predictor.worst);
  if (predictor.intervals) {
    out.key("interval");
    out.begin_object();
    out.member("points", predictor.intervals->points);
    out.member("inside", predictor.intervals->inside);
    out.member("median_half_width", predictor.intervals->median_half_width);
    out.end_object();
  }
  out.end_object();
}

std::string accuracy_text(Accuracy const& accuracy, TextStyle const& style) {
  auto text = wrapped(accuracy.what, "", style) + "\n" + predictor_table(accuracy, style) + "\n" +
              family_table(accuracy, style);
  for (auto const& finding : accuracy.findings) text += "\n" + wrapped(finding, "", style);
  return text;
}

std::string accuracy_json(Accuracy const& accuracy) {
  auto out = JsonWriter{};
  out.begin_object();
  out.member("what", accuracy.what);
  out.key("predictors");
  out.begin_array();
  for (auto const& predictor : accuracy.predictors) write_predictor(out, accuracy, predictor);
  out.end_array();
  out.key("families");
  out.begin_array();
  for (auto const& family : accuracy.families) write_family(out, family);
  out.end_array();
  out.key("records");
  out.begin_array();
  for (auto const& record : accuracy.records) write_record(out, record);
  out.end_array();
  out.key("findings");
  out.begin_array();
  for (auto const& finding : accuracy.findings) out.value(finding);
  out.end_array();
  out.end_object();
  return std::move(out).finish();
}

}  // namespace twinstep::reports
