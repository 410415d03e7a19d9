#include "validate/study/study.hpp"

#include "sim/base/input_error.hpp"
#include "validate/score/record_machine.hpp"
#include "validate/study/measured_records.hpp"

namespace twinstep::study {

using validate::CollectiveCase;
using validate::CollectiveRecord;

validate::MakeCase case_maker(std::optional<hardware::Cluster> named) {
  return [named = std::move(named)](CollectiveRecord const& record) {
    return CollectiveCase{record, named ? validate::machine_of(record, *named) : validate::machine_of(record)};
  };
}

Study study_of(std::vector<std::string> const& files, std::optional<hardware::Cluster> const& named) {
  auto study = Study{};
  auto const make = case_maker(named);
  for (auto const& file : files) {
    for (auto& record : read_measured_records(file, named, study.warnings)) {
      try {
        static_cast<void>(make(record));
        study.records.push_back(std::move(record));
      } catch (InputError const& error) {
        study.skipped.push_back({std::move(record), error.what()});
      }
    }
  }
  for (auto const& record : study.records) study.cases.push_back(make(record));
  return study;
}

Predictor predict_as_is(std::string name, Study const& study) {
  auto predictor = Predictor{std::move(name), {}, {}};
  for (auto const& one : study.cases) {
    auto& predicted = predictor.predictions.emplace_back();
    auto& intervals = predictor.intervals.emplace_back();
    for (auto const& point : one.record().points) {
      auto const time = one.predict(point.size).time;
      predicted.emplace_back(time);
      intervals.push_back(one.interval(point.size, time));
    }
  }
  return predictor;
}

reports::PredictorAccuracy accuracy_of(Predictor const& predictor, Study const& study,
                                       std::vector<bool> const& counted) {
  auto errors = std::vector<validate::SystemErrors>{};
  auto counts = std::vector<bool>{};
  for (std::size_t i = 0; i < study.cases.size(); ++i) {
    counts.push_back(counted.empty() || counted[i]);
    if (counts.back())
      errors.push_back({study.records[i].system, validate::errors_of(study.records[i], predictor.predictions[i])});
  }
  auto result = reports::PredictorAccuracy{predictor.name, {}};
  for (std::size_t c = 0; c < validate::kSizeClasses; ++c) {
    auto const summary = validate::summarize(errors, static_cast<validate::SizeClass>(c));
    result.by_size.push_back({summary.median, summary.mean});
  }
  auto const all = validate::summarize(errors, validate::SizeClass::kAll);
  result.systems = all.systems;
  result.worst = all.worst;
  if (predictor.intervals.empty()) return result;
  if (auto const coverage = validate::coverage_of(study.records, predictor.predictions, predictor.intervals, counts))
    result.intervals = {coverage->points, coverage->inside, coverage->median_half_width};
  return result;
}

std::vector<std::string> names_of_sizes() {
  auto names = std::vector<std::string>{};
  for (std::size_t c = 0; c < validate::kSizeClasses; ++c)
    names.emplace_back(name_of(static_cast<validate::SizeClass>(c)));
  return names;
}

}  // namespace twinstep::study
