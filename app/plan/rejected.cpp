#include "app/plan/rejected.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace twinstep::app::plan {

void Rejected::add(Simulated const& simulated) {
  auto const [of, needs, has] = reports::shortage_of(simulated.summary);
  auto& mine = group(name_of(simulated.candidate.plan.strategy));
  if (!count(mine, static_cast<double>(needs.count()) / static_cast<double>(has.count()))) return;
  mine.plans.reason = reports::why_it_does_not_fit(simulated.summary);
  mine.not_simulated.reset();
}

void Rejected::add(Candidate const& candidate, Capacity const& capacity) {
  auto& mine = group(name_of(candidate.plan.strategy));
  if (!count(mine, fullness(candidate.estimate, capacity))) return;
  mine.plans.reason = why_too_large(candidate.estimate, capacity);
  mine.not_simulated = candidate;
}

void Rejected::add(std::string_view strategy, std::string const& reason) {
  auto& mine = group(strategy);
  if (mine.plans.count == 0) mine.plans.reason = reason;
}

void Rejected::found(strategies::StrategyName strategy) {
  group(name_of(strategy)).plans.others_fit = true;
}

std::vector<reports::RejectedPlans> Rejected::by_nearness(
    std::function<std::string(Candidate const&)> const& explain) && {
  std::ranges::stable_sort(groups_, {}, &Group::fullness);
  auto out = std::vector<reports::RejectedPlans>{};
  for (auto& each : groups_) {
    if (each.plans.reason.empty()) continue;
    if (each.not_simulated && !each.plans.others_fit)
      if (auto reason = explain(*each.not_simulated); !reason.empty()) each.plans.reason = std::move(reason);
    out.push_back(std::move(each.plans));
  }
  return out;
}

Rejected::Group& Rejected::group(std::string_view strategy) {
  auto const known = std::ranges::find(groups_, strategy, [](Group const& each) { return each.plans.strategy; });
  if (known != groups_.end()) return *known;
  groups_.push_back({.plans = {.cluster = cluster_, .gpus = gpus_, .strategy = std::string{strategy}},
                     .fullness = std::numeric_limits<double>::infinity()});
  return groups_.back();
}

/// Whether it is the nearest so far.
bool Rejected::count(Group& group, double fullness) {
  ++group.plans.count;
  if (fullness >= group.fullness) return false;
  group.fullness = fullness;
  return true;
}

}  // namespace twinstep::app::plan
