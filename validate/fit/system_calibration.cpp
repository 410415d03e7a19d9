#include "validate/fit/system_calibration.hpp"

#include <algorithm>
#include <cmath>

#include "validate/fit/least_squares.hpp"

namespace twinstep::validate {
namespace {

/// Two numbers of a cluster: a time that every call takes longer, and the rate of what carries the bytes, as a factor
/// on its efficiency: the NICs' where a record leaves its node, the links' inside nodes where none does.
class TwoNumbers {
 public:
  explicit TwoNumbers(std::span<CollectiveCase* const> cases) {
    auto const leaves_nodes = std::ranges::any_of(cases, [](auto const* one) { return one->layout().nodes() > 1; });
    auto& cluster = cases.front()->constants();
    auto const link = [](auto member) {
      return [member](hardware::Cluster& its) -> double& { return (its.node().link.*member).value; };
    };
    using hardware::Link;
    auto candidates = std::vector<Efficiency>{};
    if (leaves_nodes)
      candidates = {[](hardware::Cluster& its) -> double& { return its.fabric.transport.efficiency.value; }};
    else
      candidates = {link(&Link::ring_efficiency), link(&Link::pair_efficiency), link(&Link::peer_efficiency),
                    link(&Link::multicast_efficiency), link(&Link::rack_multicast_efficiency)};
    for (auto const& each : candidates) {
      if (each(cluster) <= 0) continue;
      before_.push_back(each(cluster));
      efficiencies_.push_back(each);
    }
  }

  /// The largest logarithm of the factor: no efficiency exceeds 1.
  [[nodiscard]] double most() const {
    auto const largest = std::ranges::max_element(before_);
    return largest == before_.end() ? 0.0 : std::max(0.0, -std::log(*largest));
  }

  /// The prediction with both in place: values[0] is the extra time in microseconds, values[1] the factor's logarithm.
  Seconds predict(CollectiveCase& one, Bytes size, std::span<double const> values) const {
    for (std::size_t i = 0; i < efficiencies_.size(); ++i)
      efficiencies_[i](one.constants()) = before_[i] * std::exp(values[1]);
    auto const time = one.predict(size).time + Seconds{values[0] * kMicrosecond};
    return std::max(time, Seconds{kMicrosecond});
  }

 private:
  using Efficiency = std::function<double&(hardware::Cluster&)>;
  std::vector<Efficiency> efficiencies_;
  std::vector<double> before_;
};

/// The two numbers from those points of the cases that `takes_part` says.
std::vector<double> fit(TwoNumbers const& numbers, std::span<CollectiveCase* const> cases,
                        std::function<bool(CollectiveCase const&, std::size_t)> const& takes_part) {
  auto problem = LeastSquares{};
  auto const floor = problem.add_variable(0, -1e3, 1e5);
  auto const rate = problem.add_variable(0, -3, numbers.most());
  for (auto* const one : cases) {
    if (!one->record().is_healthy()) continue;
    auto const& points = one->record().points;
    auto used = std::vector<std::size_t>{};
    for (std::size_t i = 0; i < points.size(); ++i)
      if (!points[i].is_outlier && takes_part(*one, i)) used.push_back(i);
    problem.add_term({floor, rate}, used.size(), [one, &points, &numbers, used](auto values, auto residuals, bool) {
      for (std::size_t i = 0; i < used.size(); ++i) {
        auto const& point = points[used[i]];
        residuals[i] = std::log(numbers.predict(*one, point.size, values) / point.time);
      }
    });
  }
  return problem.solve();
}

}  // namespace

std::vector<Predictions> calibrate_system(std::span<CollectiveCase* const> cases) {
  auto const numbers = TwoNumbers{cases};
  auto const values = fit(numbers, cases, [](auto const&, std::size_t) { return true; });
  auto predicted = std::vector<Predictions>{};
  for (auto* const one : cases) {
    auto& each = predicted.emplace_back();
    for (auto const& point : one->record().points) each.emplace_back(numbers.predict(*one, point.size, values));
  }
  return predicted;
}

std::vector<std::size_t> five_points(CollectiveRecord const& record) {
  auto usable = std::vector<std::size_t>{};
  for (std::size_t i = 0; i < record.points.size(); ++i)
    if (!record.points[i].is_outlier) usable.push_back(i);
  constexpr std::size_t kPoints = 5;
  if (usable.size() <= kPoints) return usable;
  auto chosen = std::vector<std::size_t>{};
  for (std::size_t i = 0; i < kPoints; ++i) chosen.push_back(usable[i * (usable.size() - 1) / (kPoints - 1)]);
  return chosen;
}

Predictions calibrate_by_five(CollectiveCase& one) {
  auto const five = five_points(one.record());
  auto const takes_part = [&](std::size_t i) { return std::ranges::find(five, i) != five.end(); };
  auto* const all = &one;
  auto const cases = std::span{&all, 1};
  auto const numbers = TwoNumbers{cases};
  auto const values = fit(numbers, cases, [&](auto const&, std::size_t i) { return takes_part(i); });
  auto predicted = Predictions(one.record().points.size());
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (!takes_part(i)) predicted[i] = numbers.predict(one, one.record().points[i].size, values);
  return predicted;
}

}  // namespace twinstep::validate
