#include "validate/fit/error_bands.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace twinstep::validate {
namespace {

constexpr auto kLevel = 0.9;
constexpr std::size_t kFewest = 9;  ///< points of which one may lie outside

hardware::ErrorBand band_of(double low, double high, std::string const& source) {
  // Three digits: more would claim more than a few dozen points say. Factors that they make zero keep all of theirs.
  auto const rounded = [](double logarithm) {
    auto const factor = std::exp(logarithm);
    return factor < 0.01 ? factor : std::round(factor * 1000) / 1000;
  };
  return {{rounded(low), hardware::Basis::kFitted, source}, {rounded(high), hardware::Basis::kFitted, source}};
}

double half_width(std::vector<double> deviations) {
  for (auto& each : deviations) each = std::abs(each);
  std::ranges::sort(deviations);
  if (deviations.size() < kFewest) return deviations.back() * 1.5;
  auto const place = kLevel * static_cast<double>(deviations.size()) - 0.5;  // Hazen's
  auto const below = static_cast<std::size_t>(place);
  auto const above = std::min(below + 1, deviations.size() - 1);
  return std::lerp(deviations[below], deviations[above], place - static_cast<double>(below));
}

std::vector<LeftOutPoint> of_range(std::span<LeftOutPoint const> points, hardware::SizeRange range) {
  auto result = std::vector<LeftOutPoint>{};
  for (auto const& point : points)
    if (hardware::range_of(point.size) == range) result.push_back(point);
  return result;
}

std::vector<double> deviations_of(std::span<LeftOutPoint const> points) {
  auto result = std::vector<double>{};
  for (auto const& point : points) result.push_back(point.deviation);
  return result;
}

/// The deviation below which `part` of the weight lies. Requires points that are sorted by it.
double quantile(std::span<LeftOutPoint const> sorted, double part) {
  auto const all =
      std::accumulate(sorted.begin(), sorted.end(), 0.0, [](double sum, auto const& p) { return sum + p.weight; });
  auto below = 0.0;
  for (auto const& point : sorted) {
    below += point.weight;
    if (below >= part * all) return point.deviation;
  }
  return sorted.back().deviation;
}

}  // namespace

hardware::ErrorBands symmetric_bands(std::span<LeftOutPoint const> points, std::string const& source) {
  auto bands = hardware::ErrorBands{};
  if (points.empty()) return bands;
  auto const all = half_width(deviations_of(points));
  for (std::size_t i = 0; i < bands.size(); ++i) {
    auto const here = deviations_of(of_range(points, static_cast<hardware::SizeRange>(i)));
    auto const half = here.size() < kFewest ? all : half_width(here);
    bands[i] = band_of(-half, half, source);
  }
  return bands;
}

hardware::ErrorBands quantile_bands(std::span<LeftOutPoint const> points, std::string const& source) {
  auto bands = hardware::ErrorBands{};
  for (std::size_t i = 0; i < bands.size(); ++i) {
    auto here = of_range(points, static_cast<hardware::SizeRange>(i));
    if (here.empty()) continue;
    std::ranges::sort(here, {}, &LeftOutPoint::deviation);
    bands[i] = band_of(quantile(here, (1 - kLevel) / 2), quantile(here, (1 + kLevel) / 2), source);
  }
  return bands;
}

}  // namespace twinstep::validate
