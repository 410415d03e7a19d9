#include "explore/plan/search.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include "explore/ask/parallel.hpp"

namespace twinstep::explore::plan {
namespace {

constexpr std::size_t kAtOnce = 4;  ///< looked at before the next choice, whatever the cores
constexpr double kRoomy = 0.8;      ///< a bound that fills no more is hardly ever wrong about what fits

bool is_faster(Simulated const& a, Simulated const& b) {
  return a.summary.step_time < b.summary.step_time;
}

/// Of one strategy: options that make no difference, as those of accumulation where there is none.
bool run_alike(Simulated const& a, Simulated const& b) {
  return a.summary.step_time == b.summary.step_time &&
         a.summary.reserved_peak.total() == b.summary.reserved_peak.total() &&
         a.candidate.plan.batch.micro_batch == b.candidate.plan.batch.micro_batch;
}

/// The search among some of the candidates.
class BestFirst {
 public:
  BestFirst(Scenario const& scenario, Space const& space, std::size_t wanted, std::size_t at_once,
            std::function<void()> const& progress, std::size_t most = std::numeric_limits<std::size_t>::max())
      : scenario_{scenario}, space_{space}, wanted_{wanted}, at_once_{at_once}, most_{most}, progress_{progress} {}

  void add(std::size_t candidate) { next_.insert({space_.candidates[candidate].bound.step_time, candidate}); }

  Found found() {
    for (auto batch = take(); !batch.empty(); batch = take()) {
      auto looks = map_indices(batch.size(), [&](std::size_t i) { return look_at(batch[i]); });
      for (std::size_t i = 0; i < batch.size(); ++i) std::visit([&](auto& look) { keep(batch[i], look); }, looks[i]);
    }
    return std::move(found_);
  }

 private:
  struct Place {
    Duration bound;
    std::size_t candidate = 0;
    bool is_sharp = false;  // the bound is also its program's
    auto operator<=>(Place const&) const = default;
  };
  using Look = std::variant<Bound, std::optional<Simulated>>;

  /// The step time that another plan has to beat.
  [[nodiscard]] Duration limit() const {
    return found_.plans.size() < wanted_ ? kNever : found_.plans[wanted_ - 1].summary.step_time;
  }
  std::vector<Place> take() {
    auto batch = std::vector<Place>{};
    while (!next_.empty() && batch.size() < at_once_ && found_.simulations < most_ && next_.begin()->bound < limit())
      batch.push_back(next_.extract(next_.begin()).value());
    return batch;
  }
  [[nodiscard]] Look look_at(Place const& place) const {
    auto const& candidate = space_.candidates[place.candidate];
    if (!place.is_sharp) return sharpened(scenario_, candidate);
    auto simulated = simulate(scenario_, candidate);
    if (simulated && progress_) progress_();
    return simulated;
  }

  void keep(Place const& place, Bound const& bound) {
    if (fullness(bound, space_.capacity) > 1)
      found_.cannot_fit.push_back({space_.candidates[place.candidate].plan, bound});
    else
      next_.insert({bound.step_time, place.candidate, true});
  }
  void keep(Place const& place, std::optional<Simulated>& simulated) {
    if (!simulated) return;
    simulated->candidate.bound.step_time = place.bound;
    ++found_.simulations;
    if (!fits_with_ease(simulated->summary)) return found_.too_large.push_back(std::move(*simulated));
    auto& plans = found_.plans;
    if (std::ranges::any_of(plans, [&](Simulated const& other) { return run_alike(*simulated, other); })) return;
    plans.insert(std::ranges::upper_bound(plans, *simulated, is_faster), std::move(*simulated));
    if (plans.size() > wanted_) plans.pop_back();
  }

  Scenario const& scenario_;
  Space const& space_;
  std::size_t wanted_;
  std::size_t at_once_;
  std::size_t most_;  // simulations
  std::function<void()> const& progress_;
  std::set<Place> next_;
  Found found_;
};

}  // namespace

Found simulate_best(Scenario const& scenario, Space const& space, std::size_t of_each,
                    std::function<void()> const& progress) {
  auto searches =
      std::vector<BestFirst>(kEnumSize<strategies::StrategyName>, {scenario, space, of_each, kAtOnce, progress});
  for (std::size_t i = 0; i < space.candidates.size(); ++i)
    searches[static_cast<std::size_t>(space.candidates[i].plan.strategy.name())].add(i);
  auto all = Found{};
  for (auto& found : map_indices(searches.size(), [&](std::size_t i) { return searches[i].found(); })) {
    std::ranges::move(found.plans, std::back_inserter(all.plans));
    std::ranges::move(found.too_large, std::back_inserter(all.too_large));
    std::ranges::move(found.cannot_fit, std::back_inserter(all.cannot_fit));
    all.simulations += found.simulations;
  }
  std::ranges::stable_sort(all.plans, is_faster);
  return all;
}

std::optional<Simulated> find_fastest(Scenario const& scenario, Space const& space, std::size_t& left) {
  auto const silent = std::function<void()>{};
  auto search = BestFirst{scenario, space, 1, 1, silent, left};
  for (std::size_t i = 0; i < space.candidates.size(); ++i) search.add(i);
  auto found = search.found();
  left -= std::min(left, found.simulations);
  auto& plans = found.plans;
  return plans.empty() ? std::nullopt : std::optional{std::move(plans.front())};
}

std::optional<Simulated> find_fitting(Scenario const& scenario, Space const& space,
                                      std::function<void()> const& progress) {
  auto order = space.candidates;
  std::ranges::stable_sort(order, {}, [&](Candidate const& each) {
    return std::pair{std::max(fullness(each.bound, space.capacity), kRoomy), each.bound.step_time};
  });
  auto count = std::size_t{1};  // the first one fits, as a rule
  for (std::size_t first = 0; first < order.size(); first += std::exchange(count, kAtOnce)) {
    auto found = map_indices(std::min(count, order.size() - first), [&](std::size_t i) -> std::optional<Simulated> {
      auto const& candidate = order[first + i];
      if (fullness(sharpened(scenario, candidate), space.capacity) > 1) return std::nullopt;
      if (progress) progress();
      return simulate(scenario, candidate);
    });
    for (auto& each : found)
      if (each && fits_with_ease(each->summary)) return std::move(each);
  }
  return std::nullopt;
}

}  // namespace twinstep::explore::plan
