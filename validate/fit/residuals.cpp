#include "validate/fit/residuals.hpp"

#include <cmath>
#include <map>

namespace twinstep::validate {

std::vector<double> shares_of_points(CollectiveRecord const& record) {
  auto counts = std::map<hardware::SizeRange, double>{};
  for (auto const& point : record.points)
    if (!point.is_outlier) ++counts[hardware::range_of(point.size)];
  auto shares = std::vector<double>{};
  for (auto const& point : record.points)
    shares.push_back(
        point.is_outlier ? 0 : 1 / (static_cast<double>(counts.size()) * counts[hardware::range_of(point.size)]));
  return shares;
}

void add_points(LeastSquares& problem, CollectiveCase& one, std::vector<BoundConstant> constants,
                std::vector<double> weights, Loss loss) {
  auto variables = std::vector<std::size_t>{};
  for (auto const& each : constants) variables.push_back(each.variable);
  for (auto& weight : weights) weight = std::sqrt(weight);
  auto ways = std::vector<collectives::Candidate>(weights.size());
  auto const count = weights.size();
  problem.add_term(std::move(variables), count,
                   [&one, constants = std::move(constants), weights = std::move(weights), ways = std::move(ways), loss](
                       auto values, auto residuals, bool is_nearby) mutable {
                     for (std::size_t i = 0; i < constants.size(); ++i)
                       constants[i].constant->set(one.constants(), std::exp(values[i]));
                     auto const& points = one.record().points;
                     for (std::size_t i = 0; i < points.size(); ++i) {
                       residuals[i] = 0;
                       if (weights[i] == 0) continue;
                       if (!is_nearby) ways[i] = one.choose(points[i].size);
                       auto const ratio = one.predict(points[i].size, ways[i]).time / points[i].time;
                       residuals[i] = weights[i] * robust(std::log(ratio) / loss.noise, loss.bend);
                     }
                   });
}

}  // namespace twinstep::validate
