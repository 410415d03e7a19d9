#include "validate/study/measured_compute.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "validate/records/log_words.hpp"
#include "validate/records/machine_check.hpp"
#include "validate/study/step_prediction.hpp"

namespace twinstep::study {
namespace {

using validate::StepQuantity;

/// A step's measured time, if it has one that counts.
std::optional<Seconds> step_time_of(validate::StepRecord const& record) {
  auto const found =
      std::ranges::find(record.measurements, StepQuantity::kStepTime, &validate::StepMeasurement::quantity);
  if (found == record.measurements.end() || !record.is_trusted()) return std::nullopt;
  return Seconds{found->value * found->unit_size};
}

void add_step(validate::ComputeMeasurements& result, validate::StepRecord const& record,
              hardware::Cluster const& cluster, std::vector<std::string>& skipped) {
  auto const measured = step_time_of(record);
  if (!measured) return skipped.push_back(fmt::format("{}: found no step time that can be believed", record.id));
  auto replay = replay_of(record, cluster);
  if (auto const* const reason = std::get_if<NotReplayed>(&replay))
    return skipped.push_back(fmt::format("{}: {}", record.id, reason->reason));
  auto const predict = [replay = std::get<StepReplay>(std::move(replay))](hardware::Node const& node) {
    auto changed = replay;
    changed.cluster.node() = node;
    return simulated_time(changed);
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

}  // namespace

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

validate::ComputeMeasurements read_compute(MeasurementFiles const& files, hardware::Cluster const& cluster,
                                           std::vector<std::string>& skipped, std::vector<std::string>& warnings) {
  auto result = validate::ComputeMeasurements{};
  for (auto const& file : files.kernels) add_kernels(result, file, cluster, skipped, warnings);
  for (auto const& file : files.steps)
    for (auto const& record : validate::read_step_records(file)) add_step(result, record, cluster, skipped);
  return result;
}

}  // namespace twinstep::study
