#include "validate/fit/system_calibration.hpp"

#include <algorithm>
#include <cmath>

#include "validate/fit/least_squares.hpp"

namespace twinstep::validate {
namespace {

constexpr auto kMicrosecond = 1e-6;

/// The prediction with both numbers in place: values[0] is the extra time in microseconds, values[1] the logarithm of
/// the NICs' efficiency.
Seconds calibrated(CollectiveCase& one, Bytes size, std::span<double const> values) {
  one.constants().fabric.transport.efficiency.value = std::exp(values[1]);
  auto const time = one.predict(size).time + Seconds{values[0] * kMicrosecond};
  return std::max(time, Seconds{kMicrosecond});
}

double start_of(CollectiveCase const& one) {
  auto const efficiency = one.cluster().fabric.transport.efficiency.value;
  return efficiency > 0 ? std::log(efficiency) : 0.0;
}

}  // namespace

std::vector<Predictions> calibrate_system(std::span<CollectiveCase* const> cases) {
  auto problem = LeastSquares{};
  auto const start = start_of(*cases.front());
  auto const floor = problem.add_variable(0, -1e3, 1e5);
  auto const efficiency = problem.add_variable(start, std::min(start, -3.0), 0);
  for (auto* const one : cases) {
    if (!one->record().is_healthy()) continue;
    auto const& points = one->record().points;
    problem.add_term({floor, efficiency}, points.size(), [one, &points](auto values, auto residuals, bool) {
      for (std::size_t i = 0; i < points.size(); ++i)
        residuals[i] = points[i].is_outlier ? 0 : std::log(calibrated(*one, points[i].size, values) / points[i].time);
    });
  }
  auto const values = problem.solve();
  auto predicted = std::vector<Predictions>{};
  for (auto* const one : cases) {
    auto& each = predicted.emplace_back();
    for (auto const& point : one->record().points) each.emplace_back(calibrated(*one, point.size, values));
  }
  return predicted;
}

}  // namespace twinstep::validate
