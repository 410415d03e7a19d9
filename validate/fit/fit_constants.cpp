#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "validate/fit/collective_constants.hpp"
#include "validate/fit/least_squares.hpp"

namespace twinstep::validate {
namespace {

constexpr auto kNoise = 0.1;             ///< of a good prediction, in logarithms
constexpr auto kPointsInASystem = 20.0;  ///< independent ones that a system is worth, however many it measured

/// Of one constant: a variable for each owner, and one for the mean of each pool. All in logarithms.
struct Variables {
  Constant const* constant = nullptr;
  std::map<std::string, std::size_t> owners;
  std::map<std::string, std::size_t> pools;
};

double logarithm_of_most(Constant const& constant) {
  auto const is_fraction = constant.name.find("efficiency") != std::string_view::npos;
  return is_fraction ? 0.0 : std::log(constant.neutral) + 5;
}

/// Far from zero it hardly grows any more, so that a sweep which something else held back does not carry a fit away
/// (Cauchy's loss).
double robust(double residual) {
  constexpr auto kBend = 1.5;
  auto const scaled = residual / kBend;
  return std::copysign(kBend * std::sqrt(std::log1p(scaled * scaled)), residual);
}

class Fit {
 public:
  explicit Fit(std::span<CollectiveCase*> cases) : cases_{cases} {
    for (auto const* const one : cases) ++records_of_[one->record().system];
    for (auto const& constant : collective_constants()) add_constant(constant);
    for (auto* const one : cases) add_case(*one);
  }

  std::vector<FittedConstant> solve() const {
    auto const values = problem_.solve();
    auto fitted = std::vector<FittedConstant>{};
    for (auto const& variables : variables_) {
      for (auto const& [owner, index] : variables.owners)
        fitted.push_back({variables.constant, owner, false, std::exp(values[index])});
      for (auto const& [pool, index] : variables.pools)
        fitted.push_back({variables.constant, pool, true, std::exp(values[index])});
    }
    return fitted;
  }

 private:
  void add_constant(Constant const& constant) {
    auto variables = Variables{&constant, {}, {}};
    auto const start = std::log(constant.neutral);
    auto const most = logarithm_of_most(constant);
    auto const add = [&] { return problem_.add_variable(start, start - 5, most); };
    for (auto const* const one : cases_) {
      auto const owner = constant.owner(*one);
      if (owner.empty() || variables.owners.contains(owner)) continue;
      auto const pool = constant.pool(*one);
      if (!variables.pools.contains(pool)) {
        variables.pools[pool] = add();
        problem_.add_term({variables.pools[pool]}, 1,
                          [start, doubt = constant.doubt](auto values, auto residuals, bool) {
                            residuals[0] = (values[0] - start) / doubt;
                          });
      }
      variables.owners[owner] = add();
      problem_.add_term(
          {variables.owners[owner], variables.pools[pool]}, 1,
          [spread = constant.spread, has_outliers = constant.has_outliers](auto values, auto residuals, bool) {
            auto const apart = (values[0] - values[1]) / spread;
            residuals[0] = has_outliers ? robust(apart) : apart;
          });
    }
    variables_.push_back(std::move(variables));
  }

  void add_case(CollectiveCase& one) {
    auto indices = std::vector<std::size_t>{};
    auto constants = std::vector<Constant const*>{};
    for (auto const& variables : variables_) {
      auto const owner = variables.constant->owner(one);
      if (owner.empty()) continue;
      indices.push_back(variables.owners.at(owner));
      constants.push_back(variables.constant);
    }
    auto const weights = point_weights(one);
    auto ways = std::vector<collectives::Candidate>(weights.size());
    problem_.add_term(indices, weights.size(),
                      [&one, constants, weights, ways](auto values, auto residuals, bool is_nearby) mutable {
                        for (std::size_t i = 0; i < constants.size(); ++i)
                          constants[i]->set(one.constants(), std::exp(values[i]));
                        auto const& points = one.record().points;
                        for (std::size_t i = 0; i < points.size(); ++i) {
                          residuals[i] = 0;
                          if (weights[i] == 0) continue;
                          if (!is_nearby) ways[i] = one.choose(points[i].size);
                          auto const ratio = one.predict(points[i].size, ways[i]).time / points[i].time;
                          residuals[i] = weights[i] * robust(std::log(ratio) / kNoise);
                        }
                      });
  }

  /// Square roots of weights: the systems alike, the records of a system alike, the ranges of sizes of a record alike.
  [[nodiscard]] std::vector<double> point_weights(CollectiveCase const& one) const {
    auto const& points = one.record().points;
    auto counts = std::map<hardware::SizeRange, double>{};
    for (auto const& point : points)
      if (!point.is_outlier) ++counts[hardware::range_of(point.size)];
    auto const records = static_cast<double>(records_of_.at(one.record().system));
    auto weights = std::vector<double>{};
    for (auto const& point : points) {
      auto const share =
          1.0 / (static_cast<double>(counts.size()) * std::max(1.0, counts[hardware::range_of(point.size)]) * records);
      weights.push_back(point.is_outlier ? 0 : std::sqrt(share * kPointsInASystem));
    }
    return weights;
  }

  std::span<CollectiveCase*> cases_;
  std::map<std::string, std::int64_t> records_of_;  // by system
  std::vector<Variables> variables_;
  LeastSquares problem_;
};

}  // namespace

std::vector<FittedConstant> fit_constants(std::span<CollectiveCase*> cases) {
  auto const fitted = Fit{cases}.solve();
  for (auto* const one : cases) apply_constants(fitted, *one);
  return fitted;
}

void apply_constants(std::span<FittedConstant const> fitted, CollectiveCase& one) {
  for (auto const& constant : collective_constants()) {
    auto const owner = constant.owner(one);
    if (owner.empty()) continue;
    auto const pool = constant.pool(one);
    auto value = std::optional<double>{};
    auto mean = constant.neutral;
    for (auto const& each : fitted) {
      if (each.constant != &constant) continue;
      if (each.is_mean && each.owner == pool) mean = each.value;
      if (!each.is_mean && each.owner == owner) value = each.value;
    }
    constant.set(one.constants(), value.value_or(mean));
  }
}

}  // namespace twinstep::validate
