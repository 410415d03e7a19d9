#include "validate/fit/left_out_intervals.hpp"

#include <cmath>
#include <map>

namespace twinstep::validate {

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
