#include "validate/fit/collective_calibration.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/collectives/benchmark.hpp"
#include "validate/fit/error_bands.hpp"

namespace twinstep::validate {
namespace {

using hardware::CollectiveCalibration;

/// The point beside its prediction: what factor on the devices' time, beside the host's, would explain it. The
/// benchmark's time is (host^4 + device^4)^(1/4).
Deviation deviation_of(CollectiveCase const& one, MeasuredPoint const& point) {
  constexpr auto kLeast = 0.05;  // of the measured time: what the host leaves to the devices
  auto const prediction = one.predict(point.size);
  auto const fourth = [](double value) { return value * value * value * value; };
  auto const host = fourth(one.host_time().count());
  auto const device = std::max(fourth(prediction.time.count()) - host, 1e-40);
  auto const rest = std::max(fourth(point.time.count()) - host, fourth(kLeast * point.time.count()));
  return {point.size, prediction.algorithm, prediction.protocol, std::sqrt(std::sqrt(rest / device)),
          std::min(1.0, device / fourth(prediction.time.count()))};
}

/// The points of all records of one collective on one layout.
struct Group {
  std::vector<Deviation> deviations;
  CollectiveCalibration calibration;
};

void add(Group& group, CollectiveCase const& one) {
  auto& its = group.calibration;
  for (auto const& point : one.record().points) {
    if (point.is_outlier) continue;
    its.smallest = group.deviations.empty() ? point.size : std::min(its.smallest, point.size);
    its.largest = group.deviations.empty() ? point.size : std::max(its.largest, point.size);
    group.deviations.push_back(deviation_of(one, point));
  }
}

std::vector<LeftOutPoint> left_out_points(std::vector<Deviation> const& deviations) {
  auto const left = left_out_deviations(deviations);
  auto points = std::vector<LeftOutPoint>{};
  for (std::size_t i = 0; i < left.size(); ++i) points.push_back({deviations[i].size, left[i]});
  return points;
}

std::vector<CollectiveCalibration> correct(std::vector<CollectiveCase> const& cases, std::string const& source) {
  auto groups = std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, Group>{};
  for (auto const& one : cases) {
    auto const sweep = one.sweep();
    if (!sweep) continue;
    auto& group = groups[{sweep->kind, sweep->ranks, sweep->nodes}];
    group.calibration.collective = sweep->kind;
    group.calibration.ranks = sweep->ranks;
    group.calibration.nodes = sweep->nodes;
    group.calibration.source = source;
    add(group, one);
  }
  auto result = std::vector<CollectiveCalibration>{};
  for (auto& [key, group] : groups) {
    if (group.deviations.empty()) continue;
    group.calibration.corrections = fit_size_corrections(group.deviations);
    group.calibration.errors =
        symmetric_bands(left_out_points(group.deviations),
                        "measured over predicted at sizes left out of the correction: nine tenths of them lie inside");
    result.push_back(std::move(group.calibration));
  }
  return result;
}

}  // namespace

Calibration calibrate(std::vector<CollectiveRecord> const& records, MakeCase const& make, Depth depth,
                      std::string const& source) {
  auto cases = std::vector<CollectiveCase>{};
  for (auto const& record : records) cases.push_back(make(record));
  for (auto& one : cases) one.constants().library.calibrations.clear();
  auto all = std::vector<CollectiveCase*>{};
  for (auto& one : cases) all.push_back(&one);
  auto calibration = Calibration{fit_system(all), {}};
  if (depth == Depth::kCorrections) calibration.sweeps = correct(cases, source);
  return calibration;
}

void apply_calibration(Calibration const& calibration, hardware::Cluster& cluster) {
  apply_calibration(calibration.constants, cluster);
  cluster.library.calibrations = calibration.sweeps;
}

}  // namespace twinstep::validate
