#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "validate/fit/collective_calibration.hpp"
#include "validate/fit/least_squares.hpp"
#include "validate/fit/residuals.hpp"

namespace twinstep::validate {
namespace {

/// Of a good prediction of a calibrated cluster; a single point that decides a constant may lie far off before the fit.
constexpr auto kLoss = Loss{.noise = 0.04, .bend = 4};
constexpr auto kMostPoints = 20.0;  ///< independent ones that a record is worth
constexpr auto kDetermined = 0.6;   ///< of a constant's doubt may be left

/// What `set` would have to be given for the profile's own value; 0 where the profile has none of it.
double value_in(hardware::Cluster const& cluster, Constant const& constant) {
  auto unit = cluster;
  constant.set(unit, 1);
  auto const one = constant.get(unit);
  return one > 0 ? constant.get(cluster) / one : 0;
}

double logarithm_of_most(Constant const& constant, double start) {
  return is_efficiency(constant) ? 0.0 : start + 6;
}

/// Whether all that leaves nodes is one GPU of each, of nodes that have more.
bool has_only_pairs(std::span<CollectiveCase* const> cases) {
  auto leaves = false;
  for (auto const* const one : cases) {
    if (one->layout().nodes() < 2) continue;
    if (one->layout().most_ranks_per_node() > 1) return false;
    leaves = true;
  }
  return leaves;
}

class SystemFit {
 public:
  explicit SystemFit(std::span<CollectiveCase*> cases) : cases_{cases} {
    for (auto const* const constant : system_constants()) add_constant(*constant);
    for (auto* const one : cases) add_case(*one);
  }

  std::vector<SystemConstant> solve() {
    if (has_only_pairs(cases_))
      leave_out(kNicEfficiency,
                "measured with one GPU of each node only, which its slot and few channels limit: that does not "
                "calibrate all GPUs of a node");
    auto values = problem_.solve();
    leave_out_undetermined(values);
    values = problem_.solve();
    auto const spreads = problem_.spreads(values);
    for (std::size_t i = 0; i < fitted_.size(); ++i) {
      auto& each = fitted_[i];
      each.value = each.left_out.empty() ? std::exp(values[i]) : each.before;
      each.spread = spreads[i];
    }
    for (auto* const one : cases_) apply_calibration(fitted_, one->constants());
    count_points();
    return std::move(fitted_);
  }

 private:
  void add_constant(Constant const& constant) {
    auto const* const first = first_that_depends(constant);
    if (first == nullptr) return;
    auto const before = value_in(first->cluster(), constant);
    if (before <= 0) return;
    auto const start = std::log(before);
    problem_.add_variable(
        std::min(constant.start > 0 ? std::log(constant.start) : start, logarithm_of_most(constant, start)), start - 5,
        logarithm_of_most(constant, start));
    problem_.add_term(
        {fitted_.size()}, 1,
        [start, spread = constant.spread, is_robust = constant.has_outliers](auto values, auto residuals, bool) {
          auto const apart = (values[0] - start) / spread;
          residuals[0] = is_robust ? robust(apart) : apart;
        });
    fitted_.push_back({&constant, before, before, 0, 0, {}});
  }

  [[nodiscard]] CollectiveCase const* first_that_depends(Constant const& constant) const {
    auto const found = std::ranges::find_if(cases_, [&](auto const* one) { return !constant.owner(*one).empty(); });
    return found == cases_.end() ? nullptr : *found;
  }

  void add_case(CollectiveCase& one) {
    auto constants = std::vector<BoundConstant>{};
    for (std::size_t i = 0; i < fitted_.size(); ++i)
      if (!fitted_[i].constant->owner(one).empty()) constants.push_back({fitted_[i].constant, i});
    auto weights = shares_of_points(one.record());
    auto const counted = static_cast<double>(std::ranges::count_if(weights, [](double each) { return each > 0; }));
    for (auto& weight : weights) weight *= std::min(counted, kMostPoints);
    add_points(problem_, one, std::move(constants), std::move(weights), kLoss);
  }

  void leave_out(std::string_view path, std::string const& reason) {
    for (std::size_t i = 0; i < fitted_.size(); ++i) {
      if (fitted_[i].constant->path != path) continue;
      fitted_[i].left_out = reason;
      problem_.hold(i, std::log(fitted_[i].before));
    }
  }

  /// One at a time, the least determined first: what it shared with another is then the other's.
  void leave_out_undetermined(std::vector<double> const& values) {
    while (true) {
      auto const spreads = problem_.spreads(values);
      auto const left = [&](std::size_t i) { return spreads[i] / fitted_[i].constant->spread; };
      auto worst = std::size_t{0};
      for (std::size_t i = 1; i < fitted_.size(); ++i)
        if (left(i) > left(worst)) worst = i;
      if (fitted_.empty() || left(worst) <= kDetermined) return;
      leave_out(fitted_[worst].constant->path, "the measurements do not determine it");
    }
  }

  /// A point changes with a constant if a tenth more of it changes the prediction by half a per cent.
  void count_points() {
    for (auto& each : fitted_)
      for (auto* const one : cases_) {
        if (each.constant->owner(*one).empty()) continue;
        for (auto const& point : one->record().points) {
          if (point.is_outlier) continue;
          auto const way = one->choose(point.size);
          auto const time = one->predict(point.size, way).time;
          each.constant->set(one->constants(), each.value * 1.1);
          auto const changed = one->predict(point.size, way).time;
          each.constant->set(one->constants(), each.value);
          if (std::abs(changed / time - 1) > 0.005) ++each.points;
        }
      }
  }

  std::span<CollectiveCase*> cases_;
  std::vector<SystemConstant> fitted_;  // by variable
  LeastSquares problem_;
};

}  // namespace

std::vector<SystemConstant> fit_system(std::span<CollectiveCase*> cases) {
  return SystemFit{cases}.solve();
}

void apply_calibration(std::span<SystemConstant const> fitted, hardware::Cluster& cluster) {
  for (auto const& each : fitted)
    if (each.left_out.empty()) each.constant->set(cluster, each.value);
}

}  // namespace twinstep::validate
