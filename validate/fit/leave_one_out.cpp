#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <thread>

#include "validate/fit/cross_validation.hpp"
#include "validate/fit/system_calibration.hpp"

namespace twinstep::validate {
namespace {

std::vector<std::string> systems_of(std::vector<CollectiveRecord> const& records) {
  auto systems = std::vector<std::string>{};
  for (auto const& record : records) systems.push_back(record.system);
  std::ranges::sort(systems);
  auto const rest = std::ranges::unique(systems);
  systems.erase(rest.begin(), rest.end());
  return systems;
}

}  // namespace

LeftOutPredictions predict_left_out(std::vector<CollectiveRecord> const& records,
                                    std::function<CollectiveCase(CollectiveRecord const&)> const& make, int jobs,
                                    std::vector<LeftOut>* left_out,
                                    std::function<void(std::size_t, std::size_t)> const& tell) {
  auto const systems = systems_of(records);
  auto const nothing = std::vector<Predictions>(records.size());
  auto result = LeftOutPredictions{nothing, nothing, nothing};
  auto found = std::vector<LeftOut>(systems.size());
  auto next = std::atomic<std::size_t>{0};
  auto done = std::atomic<std::size_t>{0};
  auto const work = [&] {
    auto cases = std::vector<CollectiveCase>{};  // a thread's own: a fit changes their constants
    for (auto const& record : records) cases.push_back(make(record));
    for (auto s = next++; s < systems.size(); s = next++) {
      auto seen = std::vector<CollectiveCase*>{};
      for (auto& one : cases)
        if (one.record().system != systems[s] && one.is_fitted()) seen.push_back(&one);
      found[s] = {systems[s], fit_constants(seen)};
      auto own = std::vector<CollectiveCase*>{};
      auto places = std::vector<std::size_t>{};
      for (std::size_t i = 0; i < records.size(); ++i) {
        if (records[i].system != systems[s]) continue;
        apply_constants(found[s].fitted, cases[i]);
        for (auto const& point : records[i].points) result.predicted[i].emplace_back(cases[i].predict(point.size).time);
        own.push_back(&cases[i]);
        places.push_back(i);
      }
      auto calibrated = calibrate_system(own);
      for (std::size_t i = 0; i < places.size(); ++i) {
        result.calibrated[places[i]] = std::move(calibrated[i]);
        apply_constants(found[s].fitted, *own[i]);
        result.by_five[places[i]] = calibrate_by_five(*own[i]);
      }
      if (tell) tell(++done, systems.size());
    }
  };
  auto threads = std::vector<std::jthread>{};
  for (auto i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  if (left_out != nullptr) *left_out = std::move(found);
  return result;
}

std::vector<LeftOutPoint> left_out_points(std::span<CollectiveRecord const> records,
                                          std::span<Predictions const> predicted, std::vector<bool> const& counted,
                                          std::string const& without_system) {
  auto points = std::vector<LeftOutPoint>{};
  auto systems = std::vector<std::string>{};
  auto counts = std::map<std::pair<std::string, hardware::SizeRange>, double>{};
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!counted[i] || records[i].system == without_system) continue;
    for (std::size_t p = 0; p < records[i].points.size(); ++p) {
      auto const& point = records[i].points[p];
      if (point.is_outlier || !predicted[i][p]) continue;
      points.push_back({point.size, std::log(point.time / *predicted[i][p])});
      systems.push_back(records[i].system);
      ++counts[{records[i].system, hardware::range_of(point.size)}];
    }
  }
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].weight = 1 / counts[{systems[i], hardware::range_of(points[i].size)}];
  return points;
}

std::vector<Intervals> left_out_intervals(std::span<CollectiveRecord const> records,
                                          std::span<Predictions const> predicted, std::vector<bool> const& counted) {
  auto bands_without = std::map<std::string, hardware::ErrorBands>{};
  for (auto const& record : records)
    if (!bands_without.contains(record.system))
      bands_without[record.system] =
          quantile_bands(left_out_points(records, predicted, counted, record.system), "systems left out");
  auto intervals = std::vector<Intervals>{};
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto& its = intervals.emplace_back(records[i].points.size());
    auto const& bands = bands_without[records[i].system];
    for (std::size_t p = 0; p < its.size(); ++p) {
      auto const& band = bands[static_cast<std::size_t>(hardware::range_of(records[i].points[p].size))];
      if (predicted[i][p] && band.low.value > 0)
        its[p] = TimeInterval{*predicted[i][p] * band.low.value, *predicted[i][p] * band.high.value};
    }
  }
  return intervals;
}

}  // namespace twinstep::validate
