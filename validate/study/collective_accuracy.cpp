#include <algorithm>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "reports/table.hpp"
#include "validate/fit/cross_validation.hpp"
#include "validate/score/averages.hpp"
#include "validate/score/diagnosis.hpp"
#include "validate/study/accuracy.hpp"

namespace twinstep::study {
namespace {

using validate::CollectiveCase;
using validate::CollectiveRecord;

std::vector<bool> scored_records(Study const& study) {
  auto scored = std::vector<bool>{};
  for (auto const& one : study.cases) scored.push_back(one.is_scored());
  return scored;
}

/// What was fitted with each system left out, and how it predicts.
struct LeftOutFits {
  std::vector<validate::LeftOut> constants;
  hardware::ErrorBands errors;
  std::vector<Predictor> predictors;
};

LeftOutFits leave_out(Study const& study, std::optional<hardware::Cluster> const& named,
                      std::function<void(std::size_t, std::size_t)> const& tell = {}) {
  auto fits = LeftOutFits{};
  auto const jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  auto left_out = validate::predict_left_out(study.records, case_maker(named), jobs, &fits.constants, tell);
  auto const scored = scored_records(study);
  fits.errors = validate::quantile_bands(validate::left_out_points(study.records, left_out.predicted, scored), "");
  auto intervals = validate::left_out_intervals(study.records, left_out.predicted, scored);
  fits.predictors = {{"twinstep, left out", std::move(left_out.predicted), std::move(intervals)},
                     {"… and 2 numbers fitted", std::move(left_out.calibrated), {}},
                     {"… from 5 points each", std::move(left_out.by_five), {}}};
  return fits;
}

std::vector<Predictor> all_predictors(Study const& study, std::optional<hardware::Cluster> const& named,
                                      CollectiveComparison const& comparison) {
  auto predictors = std::vector<Predictor>{};
  if (comparison.leaves_out) predictors = leave_out(study, named, comparison.tell).predictors;
  auto tuner = Predictor{"NCCL's tuner formula", {}, {}};
  auto nearest = Predictor{"nearest measured system", {}, {}};
  auto line = Predictor{"line fitted to itself", {}, {}};
  for (auto const& one : study.cases) {
    tuner.predictions.push_back(validate::predict_by_tuner(one));
    nearest.predictions.push_back(validate::copy_nearest(one, study.cases));
    line.predictions.push_back(validate::fit_own_line(one.record()));
  }
  auto const is_calibrated = named && !named->library.calibrations.empty();
  predictors.push_back(predict_as_is(is_calibrated ? "twinstep, calibrated" : "twinstep, as shipped", study));
  for (auto* const each : {&tuner, &nearest, &line}) predictors.push_back(std::move(*each));
  return predictors;
}

/// Whether the profile has seen a point: its like from the same system, and of a calibrated cluster this very sweep.
bool was_fitted(CollectiveCase const& one, Bytes size) {
  auto const& library = one.cluster().library;
  auto const sweep = one.sweep();
  return one.was_seen() &&
         (library.calibrations.empty() || !sweep || collectives::calibration_at(library, *sweep, size) != nullptr);
}

std::string note_of(CollectiveCase const& one, validate::MeasuredPoint const& point) {
  if (point.is_outlier) return "an outlier by the record's own word: not counted";
  auto const& library = one.cluster().library;
  auto const sweep = one.sweep();
  if (library.calibrations.empty() || !sweep) return {};
  return collectives::calibration_at(library, *sweep, point.size) == nullptr
             ? "extrapolated: beyond the sweeps, ranks or sizes that the cluster was calibrated on"
             : "";
}

void add_points(reports::Accuracy& accuracy, CollectiveCase const& one, Predictor const& predictor, std::size_t place,
                bool leaves_out) {
  auto const& record = one.record();
  for (std::size_t i = 0; i < record.points.size(); ++i) {
    auto const& point = record.points[i];
    auto row = reports::AccuracyRecord{};
    row.id = record.id;
    row.family = record.system;
    row.size_bytes = point.size.count();
    if (auto const& time = predictor.predictions[place][i]) row.predicted = time->count() * 1e6;
    row.measured = point.time.count() * 1e6;
    row.unit = "us";
    row.fitted = !leaves_out && was_fitted(one, point.size);
    if (auto const& interval = predictor.intervals[place][i]) {
      row.low = interval->low.count() * 1e6;
      row.high = interval->high.count() * 1e6;
    }
    row.note = note_of(one, point);
    accuracy.records.push_back(std::move(row));
  }
}

std::vector<reports::AccuracyFamily> families_of(Study const& study, Predictor const& ours, Predictor const& baseline) {
  auto families = std::map<std::string, reports::AccuracyFamily>{};
  for (auto const& score : validate::scores_of(study.records, ours.predictions, baseline.predictions))
    families[score.system] = {score.system,           score.records,      0, score.mape, score.worst,
                              score.rank_correlation, score.baseline_mape};
  for (auto const& each : study.skipped) {
    auto& family = families[each.record.system];
    family.family = each.record.system;
    ++family.skipped;
  }
  auto result = std::vector<reports::AccuracyFamily>{};
  for (auto& [name, family] : families) result.push_back(std::move(family));
  return result;
}

/// What the predictions rest on.
std::string basis_text(Study const& study, bool leaves_out, std::optional<hardware::Cluster> const& named) {
  if (leaves_out) return "Each system is predicted by constants fitted without it.";
  if (!named || named->library.calibrations.empty())
    return "Predicted by the constants of the profiles, which were fitted to the public sweeps in tests/accuracy; to "
           "leave each system out of the fit tells more.";
  auto points = std::int64_t{0};
  auto fitted = std::int64_t{0};
  auto beyond = std::int64_t{0};
  for (auto const& one : study.cases)
    for (auto const& point : one.record().points) {
      ++points;
      if (was_fitted(one, point.size)) ++fitted;
      if (note_of(one, point).starts_with("extrapolated")) ++beyond;
    }
  return fmt::format(
      "{} is {}. Of {} points {} took part in that, {} are only predicted; {} lie beyond what was calibrated.",
      named->name, named->calibration, points, fitted, points - fitted, beyond);
}

/// Adds the oddities, and a finding for every record that lies far from its prediction by the constants as shipped,
/// which is noted with the record's points too.
void add_findings(reports::Accuracy& accuracy, Study const& study) {
  for (auto const& sentence : oddities_of(study)) accuracy.findings.push_back(sentence + ".");
  for (auto const& one : study.cases) {
    auto const diagnosis = validate::diagnose(one);
    if (!diagnosis) continue;
    auto const text = diagnosis->text();
    accuracy.findings.push_back(fmt::format("{} {}.", one.record().id, text));
    for (auto& record : accuracy.records)
      if (record.id == one.record().id) record.note += (record.note.empty() ? "" : "; ") + text;
  }
}

}  // namespace

reports::Accuracy compare_collectives(Study const& study, std::optional<hardware::Cluster> const& named,
                                      CollectiveComparison const& comparison) {
  auto const predictors = all_predictors(study, named, comparison);
  auto accuracy = reports::Accuracy{};
  auto const scored = scored_records(study);
  auto const all = study.records.size() + study.skipped.size();
  accuracy.what = fmt::format(
      "{} record{}, {} of them scored (healthy, NCCL, compute capability 7.0 and later), {} skipped. {} Systems count "
      "once.",
      all, all == 1 ? "" : "s", std::ranges::count(scored, true), study.skipped.size(),
      basis_text(study, comparison.leaves_out, named));
  accuracy.sizes = names_of_sizes();
  for (auto const& predictor : predictors) accuracy.predictors.push_back(accuracy_of(predictor, study, scored));
  if (comparison.cross_validates)
    for (auto& each : cross_validate(study, named, Counted::kFull)) accuracy.predictors.push_back(std::move(each));
  accuracy.families = families_of(study, predictors.front(), predictors.back());
  for (std::size_t i = 0; i < study.cases.size(); ++i)
    add_points(accuracy, study.cases[i], predictors.front(), i, comparison.leaves_out);
  for (auto const& each : study.skipped)
    accuracy.records.push_back({each.record.id, each.record.system, {}, {}, {}, "us", false, {}, {}, each.reason});
  if (study.records.empty())  // nothing else would tell why
    for (auto const& each : study.skipped) accuracy.findings.push_back(fmt::format("skipped: {}", each.reason));
  add_findings(accuracy, study);
  return accuracy;
}

std::string fitted_constants_text(Study const& study, std::optional<hardware::Cluster> const& named,
                                  reports::TextStyle const& style) {
  auto const fits = leave_out(study, named);
  auto all = std::map<std::pair<std::string, std::string>, std::vector<double>>{};
  for (auto const& fit : fits.constants)
    for (auto const& each : fit.fitted)
      all[{each.is_mean ? "mean of " + each.owner : each.owner, std::string{each.constant->path}}].push_back(
          each.value);
  auto table = reports::Table{
      {{"profile", reports::Align::kLeft}, {"constant", reports::Align::kLeft}, {"median"}, {"least"}, {"most"}}};
  for (auto const& [key, values] : all) {
    auto const [least, most] = std::ranges::minmax(values);
    table.add_row({key.first, key.second, fmt::format("{:.4g}", validate::median(values)), fmt::format("{:.4g}", least),
                   fmt::format("{:.4g}", most)});
  }
  auto bands = reports::Table{{{"measured over predicted", reports::Align::kLeft}, {"5 % below"}, {"95 % below"}}};
  for (std::size_t i = 0; i < fits.errors.size(); ++i)
    bands.add_row({std::string{all_names<hardware::SizeRange>()[i]}, fmt::format("{:.2f}", fits.errors[i].low.value),
                   fmt::format("{:.2f}", fits.errors[i].high.value)});
  return table.render(style) + "\n" + bands.render(style);
}

}  // namespace twinstep::study
