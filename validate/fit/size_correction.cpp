#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/collectives/correction.hpp"
#include "validate/fit/collective_calibration.hpp"
#include "validate/fit/least_squares.hpp"
#include "validate/fit/residuals.hpp"

namespace twinstep::validate {
namespace {

constexpr auto kMeasurementNoise = 0.02;  ///< of a repeated measurement, in logarithms
constexpr auto kPrior = 0.3;              ///< how far a factor may lie from 1
constexpr auto kStepPerOctave = 0.16;     ///< how far neighbouring knots may, an octave apart
constexpr auto kOctavesOfAKnot = 1.9;     ///< between knots, at least: every other size of a sweep that doubles

double octaves(Bytes size) {
  return std::log2(static_cast<double>(std::max(std::int64_t{1}, size.count())));
}

/// The least and the largest size, and between them those that lie far enough from the knot before.
std::vector<Bytes> knots_of(std::span<Deviation const> points) {
  auto sizes = std::vector<Bytes>{};
  for (auto const& point : points) sizes.push_back(point.size);
  std::ranges::sort(sizes);
  auto knots = std::vector<Bytes>{sizes.front()};
  for (auto const size : sizes)
    if (octaves(size) - octaves(knots.back()) >= kOctavesOfAKnot) knots.push_back(size);
  if (knots.back() < sizes.back()) {
    // The last two would stand too close together: the largest size takes the place of the one before.
    if (knots.size() > 1) knots.pop_back();
    knots.push_back(sizes.back());
  }
  return knots;
}

/// Where a knot begins: the median of the three points nearest to it, so that the fit, which is robust, begins among
/// them.
double start_of(Bytes knot, std::span<Deviation const> points) {
  auto nearest = std::vector<std::pair<double, double>>{};  // distance, logarithm of the factor
  for (auto const& point : points)
    nearest.emplace_back(std::abs(octaves(point.size) - octaves(knot)), std::log(point.factor));
  std::ranges::sort(nearest);
  nearest.resize(std::min(nearest.size(), std::size_t{3}));
  std::ranges::sort(nearest, {}, [](auto const& each) { return each.second; });
  return nearest[nearest.size() / 2].second;
}

/// Adds one point between two knots: what the factor leaves of its deviation.
void add_point(LeastSquares& problem, std::vector<Bytes> const& knots, Deviation const& point) {
  auto const after = static_cast<std::size_t>(std::ranges::lower_bound(knots, point.size) - knots.begin());
  auto const wanted = std::log(point.factor);
  auto const scale = point.certainty / kMeasurementNoise;
  if (knots[after] == point.size) {
    problem.add_term({after}, 1, [wanted, scale](auto values, auto residuals, bool) {
      residuals[0] = robust((values[0] - wanted) * scale);
    });
    return;
  }
  auto const share =
      (octaves(point.size) - octaves(knots[after - 1])) / (octaves(knots[after]) - octaves(knots[after - 1]));
  problem.add_term({after - 1, after}, 1, [wanted, scale, share](auto values, auto residuals, bool) {
    residuals[0] = robust((values[0] * (1 - share) + values[1] * share - wanted) * scale);
  });
}

hardware::SizeCorrection fit_piece(std::span<Deviation const> points) {
  constexpr auto kMost = 3.0;  // a factor of 20
  auto correction = hardware::SizeCorrection{points.front().algorithm, points.front().protocol, knots_of(points), {}};
  auto problem = LeastSquares{};
  for (std::size_t i = 0; i < correction.sizes.size(); ++i) {
    problem.add_variable(std::clamp(start_of(correction.sizes[i], points), -kMost, kMost), -kMost, kMost);
    problem.add_term({i}, 1, [](auto values, auto residuals, bool) { residuals[0] = values[0] / kPrior; });
    if (i == 0) continue;
    auto const step = kStepPerOctave * std::sqrt(octaves(correction.sizes[i]) - octaves(correction.sizes[i - 1]));
    problem.add_term({i - 1, i}, 1,
                     [step](auto values, auto residuals, bool) { residuals[0] = (values[1] - values[0]) / step; });
  }
  for (auto const& point : points) add_point(problem, correction.sizes, point);
  for (auto const value : problem.solve())  // four digits: more would claim more than is measured
    correction.factors.push_back(std::round(std::exp(value) * 1e4) / 1e4);
  return correction;
}

}  // namespace

std::vector<hardware::SizeCorrection> fit_size_corrections(std::span<Deviation const> deviations) {
  auto pieces = std::map<std::pair<hardware::Algorithm, hardware::Protocol>, std::vector<Deviation>>{};
  for (auto const& each : deviations) pieces[{each.algorithm, each.protocol}].push_back(each);
  auto corrections = std::vector<hardware::SizeCorrection>{};
  for (auto const& [key, points] : pieces) corrections.push_back(fit_piece(points));
  return corrections;
}

std::vector<double> left_out_deviations(std::span<Deviation const> deviations) {
  auto left = std::vector<double>{};
  for (auto const& out : deviations) {
    auto others = std::vector<Deviation>{};
    for (auto const& each : deviations)
      if (each.size != out.size && each.algorithm == out.algorithm && each.protocol == out.protocol)
        others.push_back(each);
    auto const corrections = fit_size_corrections(others);
    auto const factor = corrections.empty() ? 1.0 : collectives::factor_at(corrections.front(), out.size);
    left.push_back(out.certainty * (std::log(out.factor) - std::log(factor)));
  }
  return left;
}

}  // namespace twinstep::validate
