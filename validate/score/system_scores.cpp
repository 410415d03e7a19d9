#include "validate/score/system_scores.hpp"

#include <algorithm>
#include <map>

#include "validate/score/averages.hpp"

namespace twinstep::validate {
namespace {

std::optional<double> mean_of(std::vector<double> const& values) {
  return values.empty() ? std::nullopt : std::optional{mean(values)};
}

/// Figures of one system's records and points.
struct Gathered {
  SystemScore score;
  std::vector<double> errors;
  std::vector<double> baseline;
  std::vector<double> predicted;
  std::vector<double> measured;
};

void add(Gathered& system, CollectiveRecord const& record, Predictions const& predicted, Predictions const& baseline) {
  ++system.score.records;
  auto const errors = errors_of(record, predicted);
  if (errors.mean[0]) system.errors.push_back(*errors.mean[0]);
  if (errors.worst) system.score.worst = std::max(system.score.worst.value_or(0), *errors.worst);
  if (auto const other = errors_of(record, baseline).mean[0]) system.baseline.push_back(*other);
  for (std::size_t p = 0; p < record.points.size(); ++p) {
    if (!predicted[p] || record.points[p].is_outlier) continue;
    system.predicted.push_back(predicted[p]->count());
    system.measured.push_back(record.points[p].time.count());
  }
}

}  // namespace

std::vector<SystemScore> scores_of(std::span<CollectiveRecord const> records, std::span<Predictions const> predicted,
                                   std::span<Predictions const> baseline) {
  auto systems = std::map<std::string, Gathered>{};
  for (std::size_t i = 0; i < records.size(); ++i)
    add(systems[records[i].system], records[i], predicted[i], baseline[i]);
  auto scores = std::vector<SystemScore>{};
  for (auto& [name, system] : systems) {
    system.score.system = name;
    system.score.mape = mean_of(system.errors);
    system.score.baseline_mape = mean_of(system.baseline);
    system.score.rank_correlation = rank_correlation(system.predicted, system.measured);
    scores.push_back(std::move(system.score));
  }
  return scores;
}

std::optional<Coverage> coverage_of(std::span<CollectiveRecord const> records, std::span<Predictions const> predicted,
                                    std::span<Intervals const> intervals, std::vector<bool> const& counted) {
  auto inside = std::int64_t{0};
  auto half_widths = std::vector<double>{};
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!counted[i]) continue;
    for (std::size_t p = 0; p < records[i].points.size(); ++p) {
      auto const& point = records[i].points[p];
      if (point.is_outlier || !intervals[i][p] || !predicted[i][p]) continue;
      auto const& [low, high] = *intervals[i][p];
      if (low <= point.time && point.time <= high) ++inside;
      half_widths.push_back((high - low) / *predicted[i][p] / 2);
    }
  }
  if (half_widths.empty()) return std::nullopt;
  auto const points = static_cast<std::int64_t>(half_widths.size());
  return Coverage{points, static_cast<double>(inside) / static_cast<double>(points), median(std::move(half_widths))};
}

}  // namespace twinstep::validate
