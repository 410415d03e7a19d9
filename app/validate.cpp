#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/findings.hpp"
#include "app/machine.hpp"
#include "app/measured_records.hpp"
#include "app/output.hpp"
#include "reports/quantity_text.hpp"
#include "reports/render/accuracy_text.hpp"
#include "sim/base/input_error.hpp"
#include "validate/fit/leave_one_out.hpp"
#include "validate/records/collective_record.hpp"
#include "validate/score/accuracy.hpp"
#include "validate/score/record_machine.hpp"

namespace twinstep::app {
namespace {

using validate::CollectiveCase;
using validate::CollectiveRecord;
using validate::Predictions;

/// A record that cannot be predicted, and why.
struct Skipped {
  CollectiveRecord record;
  std::string reason;
};

/// All records on their machines, and those that have none.
struct Study {
  std::vector<CollectiveRecord> records;  ///< that `cases` refer to
  std::vector<CollectiveCase> cases;
  std::vector<Skipped> skipped;
};

CollectiveCase make_case(CollectiveRecord const& record, std::optional<hardware::Cluster> const& named) {
  return {record, named ? validate::machine_of(record, *named) : validate::machine_of(record)};
}

Study study_of(ValidateOptions const& options, std::optional<hardware::Cluster> const& named) {
  auto study = Study{};
  for (auto const& file : options.files) {
    for (auto& record : read_measured_records(file, named)) {
      try {
        static_cast<void>(make_case(record, named));
        study.records.push_back(std::move(record));
      } catch (InputError const& error) {
        study.skipped.push_back({std::move(record), error.what()});
      }
    }
  }
  for (auto const& record : study.records) study.cases.push_back(make_case(record, named));
  return study;
}

Predictions predict(CollectiveCase const& one) {
  auto predicted = Predictions{};
  for (auto const& point : one.record().points) predicted.emplace_back(one.predict(point.size).time);
  return predicted;
}

/// The records whose errors are summed up: healthy ones of NCCL on GPUs with tensor cores. The others are reported.
bool is_scored(CollectiveCase const& one) {
  return one.record().is_healthy() && one.record().library == "nccl" &&
         one.cluster().node.gpu.compute_capability.value >= 70;
}

/// Whether the constants of the profiles were fitted to this record, or to its like from the same system.
bool has_seen(CollectiveCase const& one) {
  auto const& systems = one.cluster().library.fitted_on;
  return one.is_fitted() && std::ranges::find(systems, one.record().system) != systems.end();
}

/// A way of predicting all records.
struct Predictor {
  std::string name;
  std::vector<Predictions> predictions;
};

reports::PredictorAccuracy accuracy_of(Predictor const& predictor, Study const& study) {
  auto errors = std::vector<validate::SystemErrors>{};
  for (std::size_t i = 0; i < study.cases.size(); ++i)
    if (is_scored(study.cases[i]))
      errors.push_back({study.records[i].system, validate::errors_of(study.records[i], predictor.predictions[i])});
  auto result = reports::PredictorAccuracy{predictor.name, {}};
  for (std::size_t c = 0; c < validate::kSizeClasses; ++c) {
    auto const summary = validate::summarize(errors, static_cast<validate::SizeClass>(c));
    result.by_size.push_back({summary.median, summary.mean});
  }
  return result;
}

std::vector<Predictor> all_predictors(Study const& study, ValidateOptions const& options,
                                      std::optional<hardware::Cluster> const& named,
                                      std::vector<validate::LeftOut>& left_out) {
  auto predictors = std::vector<Predictor>{};
  if (options.leaves_out || options.shows_constants) {
    auto const jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    auto const make = [&](CollectiveRecord const& record) { return make_case(record, named); };
    auto left_out_predictions = validate::predict_left_out(study.records, make, jobs, &left_out);
    predictors.push_back({"twinstep, left out", std::move(left_out_predictions.predicted)});
    predictors.push_back({"… and 2 numbers fitted", std::move(left_out_predictions.calibrated)});
  }
  auto shipped = Predictor{"twinstep, as shipped", {}};
  auto tuner = Predictor{"NCCL's tuner formula", {}};
  auto nearest = Predictor{"nearest measured system", {}};
  auto line = Predictor{"line fitted to itself", {}};
  for (auto const& one : study.cases) {
    shipped.predictions.push_back(predict(one));
    tuner.predictions.push_back(validate::predict_by_tuner(one));
    nearest.predictions.push_back(validate::copy_nearest(one, study.cases));
    line.predictions.push_back(validate::fit_own_line(one.record()));
  }
  for (auto* const each : {&shipped, &tuner, &nearest, &line}) predictors.push_back(std::move(*each));
  return predictors;
}

void add_points(reports::Accuracy& accuracy, CollectiveRecord const& record, Predictions const& predicted,
                bool fitted) {
  for (std::size_t i = 0; i < record.points.size(); ++i) {
    auto const& point = record.points[i];
    auto row = reports::AccuracyRecord{};
    row.id = record.id;
    row.family = record.system;
    row.size_bytes = point.size.count();
    if (predicted[i]) row.predicted = predicted[i]->count() * 1e6;
    row.measured = point.time.count() * 1e6;
    row.unit = "us";
    row.fitted = fitted;
    if (point.is_outlier) row.note = "an outlier by the record's own word: not counted";
    accuracy.records.push_back(std::move(row));
  }
}

std::optional<double> mean(std::vector<double> const& values) {
  if (values.empty()) return std::nullopt;
  auto sum = 0.0;
  for (auto const value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// What one system's records add up to.
struct Family {
  reports::AccuracyFamily figures;
  std::vector<double> errors;
  std::vector<double> baseline;
  std::vector<double> predicted;
  std::vector<double> measured;
};

std::vector<reports::AccuracyFamily> families_of(Study const& study, Predictor const& ours, Predictor const& baseline) {
  auto families = std::map<std::string, Family>{};
  for (std::size_t i = 0; i < study.records.size(); ++i) {
    auto const& record = study.records[i];
    auto& family = families[record.system];
    ++family.figures.count;
    auto const errors = validate::errors_of(record, ours.predictions[i]);
    if (errors.mean[0]) family.errors.push_back(*errors.mean[0]);
    if (errors.worst) family.figures.worst = std::max(family.figures.worst.value_or(0), *errors.worst);
    if (auto const other = validate::errors_of(record, baseline.predictions[i]).mean[0])
      family.baseline.push_back(*other);
    for (std::size_t p = 0; p < record.points.size(); ++p) {
      if (!ours.predictions[i][p] || record.points[p].is_outlier) continue;
      family.predicted.push_back(ours.predictions[i][p]->count());
      family.measured.push_back(record.points[p].time.count());
    }
  }
  for (auto const& each : study.skipped) ++families[each.record.system].figures.skipped;
  auto result = std::vector<reports::AccuracyFamily>{};
  for (auto& [name, family] : families) {
    family.figures.family = name;
    family.figures.mape = mean(family.errors);
    family.figures.baseline_mape = mean(family.baseline);
    family.figures.rank_correlation = validate::rank_correlation(family.predicted, family.measured);
    result.push_back(std::move(family.figures));
  }
  return result;
}

std::string constants_text(std::vector<validate::LeftOut> const& left_out) {
  auto all = std::map<std::pair<std::string, std::string>, std::vector<double>>{};
  for (auto const& fit : left_out)
    for (auto const& each : fit.fitted)
      all[{each.is_mean ? "mean of " + each.owner : each.owner, std::string{each.constant->name}}].push_back(
          each.value);
  auto table = reports::Table{
      {{"profile", reports::Align::kLeft}, {"constant", reports::Align::kLeft}, {"median"}, {"least"}, {"most"}}};
  for (auto& [key, values] : all) {
    std::ranges::sort(values);
    table.add_row({key.first, key.second, fmt::format("{:.4g}", values[values.size() / 2]),
                   fmt::format("{:.4g}", values.front()), fmt::format("{:.4g}", values.back())});
  }
  return table.render(standard_output_style());
}

reports::Accuracy accuracy_of(Study const& study, std::vector<Predictor> const& predictors, bool leaves_out) {
  auto accuracy = reports::Accuracy{};
  auto const scored = std::ranges::count_if(study.cases, is_scored);
  auto const all = study.records.size() + study.skipped.size();
  accuracy.what = fmt::format(
      "{} record{}, {} of them scored (healthy, NCCL, compute capability 7.0 and later), {} "
      "skipped. {} Systems count once.",
      all, all == 1 ? "" : "s", scored, study.skipped.size(),
      leaves_out ? "Each system is predicted by constants fitted without it."
                 : "Predicted by the constants of the profiles, which were fitted to the public "
                   "sweeps in tests/accuracy: see --leave-one-out.");
  for (std::size_t c = 0; c < validate::kSizeClasses; ++c)
    accuracy.sizes.emplace_back(name_of(static_cast<validate::SizeClass>(c)));
  for (auto const& predictor : predictors) accuracy.predictors.push_back(accuracy_of(predictor, study));
  accuracy.families = families_of(study, predictors.front(), predictors.back());
  for (std::size_t i = 0; i < study.records.size(); ++i)
    add_points(accuracy, study.records[i], predictors.front().predictions[i], !leaves_out && has_seen(study.cases[i]));
  for (auto const& each : study.skipped)
    accuracy.records.push_back({each.record.id, each.record.system, {}, {}, {}, "us", false, {}, {}, each.reason});
  if (study.records.empty())  // nothing else would tell why
    for (auto const& each : study.skipped) accuracy.findings.push_back(fmt::format("skipped: {}", each.reason));
  return accuracy;
}

}  // namespace

int validate_collectives(ValidateOptions const& options) {
  auto const named = options.cluster ? std::optional{read_machine(*options.cluster, {})} : std::nullopt;
  auto const study = study_of(options, named);
  auto left_out = std::vector<validate::LeftOut>{};
  auto const predictors = all_predictors(study, options, named, left_out);
  if (options.shows_constants) {
    print(constants_text(left_out));
    return kDone;
  }
  auto accuracy = accuracy_of(study, predictors, options.leaves_out);
  add_findings(accuracy, study.cases);
  print(options.as_json ? reports::accuracy_json(accuracy) : reports::accuracy_text(accuracy, standard_output_style()));
  auto const error = accuracy.predictors.front().by_size.front().mean;
  return options.max_mape && (!error || *error * 100 > *options.max_mape) ? kGateMissed : kDone;
}

}  // namespace twinstep::app
