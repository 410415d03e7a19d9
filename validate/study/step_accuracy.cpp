#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "validate/score/accuracy.hpp"
#include "validate/score/averages.hpp"
#include "validate/score/step_intervals.hpp"
#include "validate/study/accuracy.hpp"
#include "validate/study/cnn_calibration.hpp"
#include "validate/study/step_prediction.hpp"

namespace twinstep::study {
namespace {

using validate::ScoredStep;
using validate::StepRecord;
using Rows = std::vector<ScoredStep>;

/// Which rows a column of the table of predictors is about.
struct Choice {
  std::string name;
  std::function<bool(ScoredStep const&)> takes;
};

bool is_of_speed(ScoredStep const& row) {
  return row.is_scored && is_speed(row.measurement->quantity);
}

std::vector<Choice> columns() {
  return {{"all", is_of_speed},
          {"fitted", [](auto const& row) { return is_of_speed(row) && row.answer.is_fitted; }},
          {"predicted", [](auto const& row) { return is_of_speed(row) && !row.answer.is_fitted; }},
          {"one node", [](auto const& row) { return is_of_speed(row) && row.answer.nodes == 1; }},
          {"several", [](auto const& row) { return is_of_speed(row) && row.answer.nodes > 1; }}};
}

/// A prediction of a row by one way of predicting, in its unit.
using Predicted = std::function<std::optional<double>(ScoredStep const&)>;

std::optional<double> error_of(ScoredStep const& row, Predicted const& predicted) {
  auto const value = predicted(row);
  return value ? std::optional{std::abs(*value / row.measurement->value - 1)} : std::nullopt;
}

Predicted by_baseline(validate::StepBaseline baseline) {
  return [baseline](ScoredStep const& row) { return row.baselines[static_cast<std::size_t>(baseline)]; };
}

reports::PredictorAccuracy::Figures figures_of(std::vector<double> const& errors) {
  if (errors.empty()) return {};
  return {validate::median(errors), validate::mean(errors)};
}

reports::PredictorAccuracy predictor(std::string name, Predicted const& predicted, Rows const& rows) {
  auto out = reports::PredictorAccuracy{std::move(name), {}};
  for (auto const& column : columns()) {
    auto errors = std::vector<double>{};
    for (auto const& row : rows)
      if (column.takes(row))
        if (auto const error = error_of(row, predicted)) errors.push_back(*error);
    out.by_size.push_back(figures_of(errors));
  }
  return out;
}

/// What the rows of one family, or a part of them, add up to.
reports::AccuracyFamily family_of(std::string name, std::vector<ScoredStep const*> const& rows) {
  auto family = reports::AccuracyFamily{.family = std::move(name)};
  auto errors = std::vector<double>{};
  auto baseline = std::vector<double>{};
  auto predicted = std::vector<double>{};
  auto measured = std::vector<double>{};
  for (auto const* const row : rows) {
    ++(row->predicted ? family.count : family.skipped);
    if (!row->is_scored) continue;
    errors.push_back(std::abs(*row->error()));
    predicted.push_back(*row->predicted);
    measured.push_back(row->measurement->value);
    if (auto const error = error_of(*row, by_baseline(validate::StepBaseline::kMfu))) baseline.push_back(*error);
  }
  family.mape = figures_of(errors).mean;
  if (!errors.empty()) family.worst = std::ranges::max(errors);
  family.baseline_mape = figures_of(baseline).mean;
  family.rank_correlation = validate::rank_correlation(predicted, measured);
  return family;
}

/// One entry a family; where some of its rows were fitted and others not, one for each of the two besides.
std::vector<reports::AccuracyFamily> families_of(Rows const& rows) {
  auto by_name = std::map<std::string, std::vector<ScoredStep const*>>{};
  for (auto const& row : rows) by_name[row.family].push_back(&row);
  auto out = std::vector<reports::AccuracyFamily>{};
  for (auto const& [name, all] : by_name) {
    out.push_back(family_of(name, all));
    auto parts = std::array<std::vector<ScoredStep const*>, 2>{};
    for (auto const* const row : all)
      if (row->predicted) parts[row->answer.is_fitted ? 0 : 1].push_back(row);
    if (parts[0].empty() || parts[1].empty()) continue;
    out.push_back(family_of(name + ", fitted", parts[0]));
    out.push_back(family_of(name + ", predicted", parts[1]));
  }
  return out;
}

/// What stands before the colon of a reason: its kind.
std::string kind_of(std::string const& reason) {
  return reason.substr(0, reason.find(':'));
}

/// "195 rows are skipped: tensor parallelism (89), …", the most frequent kind of reason first.
std::string skipped_text(Rows const& rows) {
  auto reasons = std::map<std::string, int>{};
  auto all = 0;
  for (auto const& row : rows)
    if (!row.predicted) {
      ++reasons[kind_of(row.answer.skipped)];
      ++all;
    }
  auto order = std::vector<std::pair<std::string, int>>{reasons.begin(), reasons.end()};
  std::ranges::stable_sort(order, std::greater{}, &std::pair<std::string, int>::second);
  auto text = std::string{};
  for (auto const& [reason, count] : order) text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", reason, count);
  return fmt::format("{} row{} skipped: {}", all, all == 1 ? " is" : "s are", text);
}

std::string what_of(std::size_t records, Rows const& rows) {
  auto const scored = std::ranges::count_if(rows, &ScoredStep::is_scored);
  auto const fitted =
      std::ranges::count_if(rows, [](auto const& row) { return row.is_scored && row.answer.is_fitted; });
  return fmt::format(
      "{} record{}, {} row{} scored (neither flagged, nor of low confidence, nor with something assumed), {} of them "
      "seen by the constants: rates of GEMMs and attention and the factors of software stacks were fitted to them. "
      "Rows count once. MFU, HFU and the copied row are fitted to the family that they are scored on.",
      records, records == 1 ? "" : "s", scored, scored == 1 ? "" : "s", fitted);
}

void add_rows(reports::Accuracy& accuracy, Rows const& rows) {
  for (auto const& row : rows) {
    auto out = reports::AccuracyRecord{.id = row.record->id, .family = row.family, .predicted = row.predicted};
    if (row.measurement != nullptr) {
      out.measured = row.measurement->value;
      out.unit = row.measurement->unit;
    }
    out.fitted = row.answer.is_fitted;
    out.low = row.low;
    out.high = row.high;
    out.note = row.note;
    accuracy.records.push_back(std::move(out));
  }
}

}  // namespace

reports::Accuracy compare_steps(std::vector<StepRecord> const& records, std::optional<hardware::Cluster> const& named) {
  auto const networks = CnnCalibration{records, named};
  auto const rows =
      validate::score_steps(records, [&](StepRecord const& record) { return predict_step(record, named, networks); });
  using enum validate::StepBaseline;
  auto accuracy = reports::Accuracy{.what = what_of(records.size(), rows), .group = "family", .baseline = "one MFU, %"};
  for (auto const& column : columns()) accuracy.sizes.push_back(column.name);
  accuracy.predictors = {predictor(
                             "twinstep", [](ScoredStep const& row) { return row.predicted; }, rows),
                         predictor("one MFU", by_baseline(kMfu), rows), predictor("one HFU", by_baseline(kHfu), rows),
                         predictor("own one-node row", by_baseline(kSingleNode), rows),
                         predictor("… × twinstep's ratio", by_baseline(kRatio), rows)};
  accuracy.families = families_of(rows);
  add_rows(accuracy, rows);
  if (auto const quality = validate::quality_of(rows))
    accuracy.findings.push_back(
        fmt::format("intervals, from the other rows of a family: {:.0f} % of {} measured values lie inside, half-width "
                    "{:.1f} % of the prediction (median)",
                    quality->inside * 100, quality->rows, quality->half_width * 100));
  if (std::ranges::any_of(rows, [](auto const& row) { return !row.predicted; }))
    accuracy.findings.push_back(skipped_text(rows));
  return accuracy;
}

}  // namespace twinstep::study
