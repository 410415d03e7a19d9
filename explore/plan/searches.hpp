#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/plan/cluster_search.hpp"

/// What is searched: the scenario on each cluster that the options name.
namespace twinstep::explore::plan {

/// One search for each cluster, each with its price. Throws InputError for clusters, prices and settings that cannot
/// be, before anything is searched.
[[nodiscard]] std::vector<ClusterSearch> searches_of(PlanOptions const& options, std::function<void()> const& progress);

/// Settings of what a plan searches itself, or is asked for otherwise. Throws InputError that says how; `option` is
/// where the setting stands: "--set".
void check_not_searched(std::string_view option, std::string const& setting);

}  // namespace twinstep::explore::plan
