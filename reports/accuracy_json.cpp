#include <utility>

#include "reports/accuracy.hpp"
#include "reports/json_reader.hpp"

namespace twinstep::reports {

using io::JsonWriter;
namespace {

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

PredictorAccuracy read_predictor(io::Node const& predictor) {
  auto out = PredictorAccuracy{.name = std::string{predictor.at("name").string()}, .by_size = {}};
  for (auto const& each : predictor.at("errors").elements())
    out.by_size.push_back({number_at(each, "median"), number_at(each, "mean")});
  if (auto const systems = predictor.find("systems")) out.systems = systems->integer();
  out.worst = number_at(predictor, "worst");
  if (auto const interval = predictor.find("interval"))
    out.intervals = {interval->at("points").integer(), interval->at("inside").number(),
                     interval->at("median_half_width").number()};
  return out;
}

AccuracyFamily read_family(io::Node const& family) {
  return {.family = std::string{family.at("family").string()},
          .count = family.at("count").integer(),
          .skipped = family.at("skipped").integer(),
          .mape = number_at(family, "mape"),
          .worst = number_at(family, "worst"),
          .rank_correlation = number_at(family, "rank_correlation"),
          .baseline_mape = number_at(family, "baseline_mape")};
}

AccuracyRecord read_record(io::Node const& record) {
  auto out = AccuracyRecord{.id = std::string{record.at("id").string()},
                            .family = std::string{record.at("family").string()},
                            .size_bytes = {},
                            .predicted = number_at(record, "predicted"),
                            .measured = number_at(record, "measured"),
                            .unit = std::string{record.at("unit").string()},
                            .fitted = record.at("fitted").boolean(),
                            .low = number_at(record, "low"),
                            .high = number_at(record, "high"),
                            .note = text_at(record, "note")};
  if (auto const size = record.find("size_bytes")) out.size_bytes = size->integer();
  return out;
}

}  // namespace

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

std::string accuracy_json(Accuracy const& accuracy) {
  auto out = JsonWriter{};
  out.begin_object();
  out.member("what", accuracy.what);
  out.member("group", accuracy.group);
  out.member("baseline", accuracy.baseline);
  out.key("predictors");
  out.begin_array();
  for (auto const& predictor : accuracy.predictors) write_predictor(out, accuracy, predictor);
  out.end_array();
  write_array(out, "families", accuracy.families, write_family);
  write_array(out, "records", accuracy.records, write_record);
  write_values(out, "findings", accuracy.findings);
  out.end_object();
  return std::move(out).finish();
}

Accuracy read_accuracy(io::Node const& document) {
  auto accuracy = Accuracy{};
  accuracy.what = document.at("what").string();
  if (auto group = text_at(document, "group"); !group.empty()) accuracy.group = std::move(group);
  if (auto baseline = text_at(document, "baseline"); !baseline.empty()) accuracy.baseline = std::move(baseline);
  for (auto const& each : document.at("predictors").elements()) accuracy.predictors.push_back(read_predictor(each));
  if (!accuracy.predictors.empty())
    for (auto const& each : document.at("predictors").elements().front().at("errors").elements())
      accuracy.sizes.emplace_back(each.at("sizes").string());
  for (auto const& each : document.at("families").elements()) accuracy.families.push_back(read_family(each));
  for (auto const& each : document.at("records").elements()) accuracy.records.push_back(read_record(each));
  for (auto const& each : document.at("findings").elements()) accuracy.findings.emplace_back(each.string());
  return accuracy;
}

}  // namespace twinstep::reports
