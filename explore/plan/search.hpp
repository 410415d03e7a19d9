#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "explore/plan/candidates.hpp"

namespace twinstep::explore::plan {

struct Found {
  std::vector<Simulated> plans;       ///< that fit, the fastest first
  std::vector<Simulated> too_large;   ///< that do not, after all, or not with ease
  std::vector<Candidate> cannot_fit;  ///< by their programs' bounds
  std::size_t simulations = 0;
};

/// The fastest candidates of each strategy that fit, `of_each` of them. Best first: the candidate that is bounded least
/// is looked at next, first by its program's bound, then by simulation, until no bound is left below the times found.
/// So no candidate that is not simulated is faster than those found. Plans that run alike count once. Runs on all
/// cores; the same answer whatever their number. `progress` is told of every simulation, from any thread.
[[nodiscard]] Found simulate_best(Scenario const& scenario, Space const& space, std::size_t of_each,
                                  std::function<void()> const& progress = {});

/// The fastest candidate of all that fits; nothing if none does, or none of those that were simulated before `left`
/// came to nothing. Looks at one after another, so none in vain.
[[nodiscard]] std::optional<Simulated> find_fastest(Scenario const& scenario, Space const& space, std::size_t& left);

/// A candidate that fits: of those whose bound leaves room the fastest come first, then those whose bound holds least.
/// Nothing if none does.
[[nodiscard]] std::optional<Simulated> find_fitting(Scenario const& scenario, Space const& space,
                                                    std::function<void()> const& progress = {});

}  // namespace twinstep::explore::plan
