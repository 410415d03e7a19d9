#pragma once

#include <functional>
#include <vector>

#include "explore/plan/cluster_search.hpp"

/// What is searched: the scenario on each cluster that the options name.
namespace twinstep::explore::plan {

/// One search for each cluster, each with its price. Throws InputError for clusters, prices and settings that cannot
/// be, before anything is searched.
[[nodiscard]] std::vector<ClusterSearch> searches_of(PlanOptions const& options, explore::Question const& question,
                                                     std::function<void()> const& progress);

/// Changes of what a plan searches itself, or is asked for otherwise. Throws InputError that says how.
void check_not_searched(io::Change const& change);

}  // namespace twinstep::explore::plan
