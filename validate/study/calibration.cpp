#include "validate/study/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "explore/ask/data_hash.hpp"
#include "hw_profiles/number_path.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "validate/fit/compute_calibration.hpp"
#include "validate/records/log_words.hpp"
#include "validate/records/machine_check.hpp"
#include "validate/study/step_prediction.hpp"

namespace twinstep::study {
namespace {

using validate::Calibration;
using validate::CollectiveRecord;

/// Files of measurements by what they hold.
struct MeasurementFiles {
  std::vector<io::Source> sweeps;  ///< of collectives
  std::vector<io::Node> kernels;   ///< kernels and copies
  std::vector<io::Node> steps;     ///< training steps
};

void add_step(validate::ComputeMeasurements& result, validate::StepRecord const& record,
              hardware::Cluster const& cluster, std::vector<std::string>& skipped) {
  auto const measured = record.trusted_step_time();
  if (!measured) return skipped.push_back(fmt::format("{}: found no step time that can be believed", record.id));
  auto replay = replay_of(record, cluster);
  if (auto const* const reason = std::get_if<NotReplayed>(&replay))
    return skipped.push_back(fmt::format("{}: {}", record.id, reason->reason));
  auto const predict = [replay = std::get<StepReplay>(std::move(replay))](hardware::Node const& node) {
    auto tried = *replay.scenario.cluster;
    tried.node() = node;
    return simulated_time(on(std::move(tried), replay.scenario));
  };
  result.steps.push_back({record.id, *measured, predict});
}

/// The kernels of a file that can be the cluster's.
void add_kernels(validate::ComputeMeasurements& result, io::Node const& file, hardware::Cluster const& cluster,
                 std::vector<std::string>& skipped, std::vector<std::string>& warnings) {
  auto const records = validate::read_kernel_records(file);
  auto refused = std::set<std::string>{};
  auto doubted = std::set<std::string>{};
  for (auto const& record : records) {
    auto const obstacle = validate::other_library(record.backend, cluster);
    if (!obstacle.empty()) {
      refused.insert(obstacle);
      continue;
    }
    if (auto const doubt = validate::other_device(record.device, cluster); !doubt.empty()) doubted.insert(doubt);
    result.kernels.push_back(record);
  }
  for (auto const& each : refused) skipped.push_back(fmt::format("{}: {}", file.source().name, each));
  for (auto const& each : doubted) warnings.push_back(fmt::format("{}: {}", file.source().name, each));
}

/// Tells them by their content: a record with "parallelism" is a step, one with another "measurement" a kernel, and
/// everything else, text logs included, sweeps. Throws InputError for an array that is no JSON.
MeasurementFiles sort_by_content(std::vector<io::Source> files) {
  auto result = MeasurementFiles{};
  for (auto& file : files) {
    if (!records::begins_array(file.text)) {
      result.sweeps.push_back(std::move(file));
      continue;
    }
    auto const document = io::parse(file);
    auto const records = document.elements();
    if (!records.empty() && records.front().has("parallelism"))
      result.steps.push_back(document);
    else if (!records.empty() && records.front().has("measurement"))
      result.kernels.push_back(document);
    else
      result.sweeps.push_back(std::move(file));
  }
  return result;
}

/// The kernels and steps of these files. Kernels of another library, and a step that cannot be replayed on `cluster`,
/// are left out, with the reason in `skipped`; of kernels of another GPU `warnings` tells.
validate::ComputeMeasurements read_compute(MeasurementFiles const& files, hardware::Cluster const& cluster,
                                           std::vector<std::string>& skipped, std::vector<std::string>& warnings) {
  auto result = validate::ComputeMeasurements{};
  for (auto const& file : files.kernels) add_kernels(result, file, cluster, skipped, warnings);
  for (auto const& file : files.steps)
    for (auto const& record : validate::read_step_records(file)) add_step(result, record, cluster, skipped);
  return result;
}

/// Why a calibration may not take a record; nothing if it may.
std::string obstacle_of(CollectiveRecord const& record, hardware::Cluster const& cluster) {
  if (auto other = validate::other_library(record.library, cluster); !other.empty()) return other;
  if (!record.is_healthy()) return fmt::format("found a record that calls itself {}", twinstep::quoted(record.health));
  if (std::ranges::all_of(record.points, &validate::MeasuredPoint::is_outlier))
    return "found no point that is not an outlier";
  return {};
}

/// The records that a calibration of `cluster` may take.
Study usable(Study study, hardware::Cluster const& cluster) {
  auto result = Study{.skipped = std::move(study.skipped), .warnings = std::move(study.warnings)};
  for (auto& record : study.records) {
    if (auto const obstacle = obstacle_of(record, cluster); !obstacle.empty()) {
      auto reason = fmt::format("{}: {}", record.id, obstacle);
      result.skipped.push_back({std::move(record), std::move(reason)});
    } else {
      result.records.push_back(std::move(record));
    }
  }
  auto const make = case_maker(cluster);
  for (auto const& record : result.records) result.cases.push_back(make(record));
  return result;
}

validate::FittedNumber number_of(validate::SystemConstant const& fitted, hardware::Cluster cluster) {
  auto const in_unit = [&](double value) {
    fitted.constant->set(cluster, value);
    return fitted.constant->get(cluster);
  };
  auto number = validate::FittedNumber{};
  number.path = fitted.constant->path;
  number.unit = hw_profiles::number_at(cluster, fitted.constant->path)->unit;
  number.before = fitted.constant->get(cluster);
  number.value = in_unit(fitted.value);
  number.low = in_unit(fitted.value * std::exp(-fitted.spread));
  number.high = in_unit(fitted.value * std::exp(fitted.spread));
  number.points = fitted.points;
  number.left_out = fitted.left_out;
  return number;
}

std::int64_t points_of(Study const& study) {
  auto points = std::int64_t{0};
  for (auto const& record : study.records)
    points += std::ranges::count_if(record.points, [](auto const& point) { return !point.is_outlier; });
  return points;
}

/// "calibrated on 2026-11-30 to 3 sweeps, 78 points: all_reduce of 8 B to 16 GiB on 16 ranks in 2 nodes; …".
std::string calibration_text(CalibratedProfile const& profile, Study const& study,
                             validate::ComputeMeasurements const& measured) {
  auto text = fmt::format("calibrated on {} to {} sweep{} of collectives, {} points", profile.patch.date,
                          study.records.size(), study.records.size() == 1 ? "" : "s", points_of(study));
  if (!measured.kernels.empty()) text += fmt::format(", {} kernels", measured.kernels.size());
  if (!measured.steps.empty()) text += fmt::format(", {} steps", measured.steps.size());
  auto separator = ": ";
  for (auto const& sweep : profile.sweeps) {
    text += fmt::format("{}{} of {} to {} on {} ranks in {} node{}", separator, name_of(sweep.collective),
                        reports::memory_text(sweep.smallest), reports::memory_text(sweep.largest), sweep.ranks,
                        sweep.nodes, sweep.nodes == 1 ? "" : "s");
    separator = "; ";
  }
  return text + fmt::format("; data SHA-256 {}", profile.patch.data_hash);
}

/// The contents of files, one after another.
std::string all_texts(std::vector<io::Source> const& files) {
  auto texts = std::string{};
  for (auto const& file : files) texts += file.text;
  return texts;
}

/// The records as if of one system: a calibration is of one cluster, whatever its logs are called.
Study as_one_system(std::vector<CollectiveRecord> records, hardware::Cluster const& cluster) {
  auto study = Study{.records = std::move(records)};
  auto const make = case_maker(cluster);
  for (auto& record : study.records) record.system = cluster.name;
  for (auto const& record : study.records) study.cases.push_back(make(record));
  return study;
}

/// Throws InputError where nothing was measured that `cluster` can be calibrated by.
void refuse_nothing(CalibrationOutcome const& outcome, std::string const& file) {
  auto const& [study, measured, errors, profile] = outcome;
  if (!study.records.empty() || !measured.kernels.empty() || !measured.steps.empty()) return;
  throw InputError{fmt::format("{}: found no measurement to calibrate {} by{}; give sweeps, kernels or steps of it",
                               file, profile.before.name,
                               study.skipped.empty() ? "" : " (" + study.skipped.front().reason + ")")};
}

}  // namespace

CalibrationOutcome calibrate(std::string base, hardware::Cluster const& cluster, std::vector<io::Source> sources,
                             std::string date, std::optional<std::int64_t> told_ranks) {
  auto const first = sources.front().name;
  auto hash = explore::data_hash(all_texts(sources));
  auto const files = sort_by_content(std::move(sources));
  auto outcome = CalibrationOutcome{};
  outcome.study = usable(study_of(files.sweeps, cluster, told_ranks), cluster);
  auto& profile = outcome.profile;
  profile = {std::move(base), cluster, {{}, std::move(hash), std::move(date)}, {}, {}, {}};
  auto const source = fmt::format("twinstep calibrate, {} (data SHA-256 {})", profile.patch.date,
                                  profile.patch.data_hash.substr(0, 16));
  auto calibration =
      validate::calibrate(outcome.study.records, case_maker(cluster), validate::Depth::kCorrections, source);
  auto calibrated = cluster;
  apply_calibration(calibration, calibrated);
  for (auto const& each : calibration.constants) profile.patch.numbers.push_back(number_of(each, cluster));
  profile.sweeps = std::move(calibration.sweeps);
  auto skipped = std::vector<std::string>{};
  outcome.measured = read_compute(files, calibrated, skipped, outcome.study.warnings);
  for (auto& each : skipped) outcome.study.skipped.push_back({{}, std::move(each)});
  if (!outcome.measured.kernels.empty() || !outcome.measured.steps.empty()) {
    auto compute = validate::calibrate_compute(outcome.measured, calibrated.node());
    std::ranges::move(compute.numbers, std::back_inserter(profile.patch.numbers));
    outcome.compute_errors = std::move(compute.errors);
    profile.step_error = std::move(compute.interval);
  }
  refuse_nothing(outcome, first);
  auto systems = std::set<std::string>{};
  for (auto const& record : outcome.study.records) systems.insert(record.system);
  profile.systems = {systems.begin(), systems.end()};
  profile.calibration = calibration_text(profile, outcome.study, outcome.measured);
  return outcome;
}

reports::CalibrationReport report_of(CalibrationOutcome const& outcome, std::string const& out) {
  auto const& profile = outcome.profile;
  auto report = reports::CalibrationReport{};
  report.cluster = profile.before.name;
  report.out = out;
  report.calibration = profile.calibration;
  report.data_hash = profile.patch.data_hash;
  for (auto const& each : profile.patch.numbers)
    report.numbers.push_back(
        {each.path, each.unit, each.before, each.value, (each.high - each.low) / 2, each.points, each.left_out});
  for (auto const& each : profile.sweeps)
    report.sweeps.push_back(
        {std::string{name_of(each.collective)}, each.ranks, each.nodes, each.smallest, each.largest});
  for (auto const& each : outcome.compute_errors)
    report.kernels.push_back({each.kind, each.points, each.before, each.fitted, each.held_out});
  for (auto const& each : outcome.study.skipped) report.skipped.push_back(each.reason);
  report.accuracy.sizes = names_of_sizes();
  if (outcome.study.records.empty()) return report;
  auto const before = as_one_system(outcome.study.records, profile.before);
  report.accuracy.predictors.push_back(accuracy_of(predict_as_is("the profile as it was", before), before));
  for (auto& each : cross_validate(before, profile.before, Counted::kAll))
    if (each.systems > 0) report.accuracy.predictors.push_back(std::move(each));
  return report;
}

}  // namespace twinstep::study
