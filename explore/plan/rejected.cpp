#include "explore/plan/rejected.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"

namespace twinstep::explore::plan {

namespace {

std::string brief(reports::Summary const& summary) {
  if (summary.fits) return "fits only while the allocator gives back its cache and asks again";
  auto const [of, needs, has] = reports::shortage_of(summary);
  if (of != "device memory") return reports::why_it_does_not_fit(summary);
  auto const& held = summary.needed().held;
  auto const largest = reports::largest_categories(held).front();
  return fmt::format("needs {}, {} of it {}, has {}", reports::memory_text(needs),
                     reports::memory_text(held[static_cast<std::size_t>(largest)]), name_of(largest),
                     reports::memory_text(has));
}

void tell(reports::Summary const& summary, reports::RejectedPlans& plans) {
  plans.reason = summary.fits ? reports::memory_warning(summary) : reports::why_it_does_not_fit(summary);
  plans.brief = brief(summary);
}

/// What is needed over what there is: 1 where that is just enough.
double fullness(reports::Summary const& summary) {
  if (summary.fits) return 1;
  auto const [of, needs, has] = reports::shortage_of(summary);
  return static_cast<double>(needs.count()) / static_cast<double>(has.count());
}

}  // namespace

void Rejected::add(Simulated const& simulated) {
  auto& mine = group(name_of(simulated.candidate.plan.strategy));
  if (!count(mine, fullness(simulated.summary))) return;
  tell(simulated.summary, mine.plans);
  mine.not_simulated.reset();
}

void Rejected::add(Candidate const& candidate, Capacity const& capacity) {
  auto& mine = group(name_of(candidate.plan.strategy));
  if (!count(mine, plan::fullness(candidate.bound, capacity))) return;
  mine.plans.reason = mine.plans.brief = why_too_large(candidate.bound, capacity);
  mine.not_simulated = candidate;
}

void Rejected::add(std::string_view strategy, std::string const& reason) {
  auto& mine = group(strategy);
  if (mine.plans.count == 0) mine.plans.reason = mine.plans.brief = reason;
}

void Rejected::found(strategies::StrategyName strategy) {
  group(name_of(strategy)).plans.others_fit = true;
}

std::vector<reports::RejectedPlans> Rejected::by_nearness(
    std::function<std::optional<Simulated>(Candidate const&)> const& simulate) && {
  std::ranges::stable_sort(groups_, {}, [](Group const& each) { return each.plans.fullness; });
  auto out = std::vector<reports::RejectedPlans>{};
  for (auto& each : groups_) {
    if (each.plans.reason.empty()) continue;
    if (each.not_simulated && !each.plans.others_fit)
      if (auto const simulated = simulate(*each.not_simulated); simulated && !fits_with_ease(simulated->summary))
        tell(simulated->summary, each.plans);
    out.push_back(std::move(each.plans));
  }
  return out;
}

Rejected::Group& Rejected::group(std::string_view strategy) {
  auto const known = std::ranges::find(groups_, strategy, [](Group const& each) { return each.plans.strategy; });
  if (known != groups_.end()) return *known;
  groups_.push_back({.plans = {.cluster = cluster_,
                               .gpus = gpus_,
                               .strategy = std::string{strategy},
                               .fullness = std::numeric_limits<double>::infinity()}});
  return groups_.back();
}

/// Whether it is the nearest so far.
bool Rejected::count(Group& group, double fullness) {
  ++group.plans.count;
  if (fullness >= group.plans.fullness) return false;
  group.plans.fullness = fullness;
  return true;
}

}  // namespace twinstep::explore::plan
