#include <cmath>
#include <map>
#include <optional>

#include "validate/fit/collective_constants.hpp"
#include "validate/fit/least_squares.hpp"
#include "validate/fit/residuals.hpp"

namespace twinstep::validate {
namespace {

constexpr auto kPredictionNoise = 0.1;   ///< of a good prediction, in logarithms
constexpr auto kPointsInASystem = 20.0;  ///< independent ones that a system is worth, however many it measured

/// Of one constant: a variable for each owner, and one for the mean of each pool. All in logarithms.
struct Variables {
  Constant const* constant = nullptr;
  std::map<std::string, std::size_t> owners;
  std::map<std::string, std::size_t> pools;
};

double logarithm_of_most(Constant const& constant) {
  return is_efficiency(constant) ? 0.0 : std::log(constant.neutral) + 5;
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

  /// The systems count alike, and the records of a system.
  void add_case(CollectiveCase& one) {
    auto constants = std::vector<BoundConstant>{};
    for (auto const& variables : variables_) {
      auto const owner = variables.constant->owner(one);
      if (!owner.empty()) constants.push_back({variables.constant, variables.owners.at(owner)});
    }
    auto weights = shares_of_points(one.record());
    for (auto& weight : weights) weight *= kPointsInASystem / static_cast<double>(records_of_.at(one.record().system));
    add_points(problem_, one, std::move(constants), std::move(weights), {kPredictionNoise});
  }

  std::span<CollectiveCase*> cases_;
  std::map<std::string, std::int64_t> records_of_;  // by system
  std::vector<Variables> variables_;
  LeastSquares problem_;
};

}  // namespace

std::vector<FittedConstant> fit_constants(std::span<CollectiveCase*> cases) {
  auto fitted = Fit{cases}.solve();
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
