#include "explore/plan/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "explore/plan/way_out_of_node.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore::plan {
namespace {

constexpr double kNoChange = 5e-4;  ///< of the step time: what prints as 0.0 %
constexpr double kHidden = 0.01;    ///< of the step: communication that a faster network could not take much from

/// Searches of the question with the changes; what is wrong with them is said of the option in which they stand.
std::vector<ClusterSearch> searches_with(PlanQuestion question, WhatIf const& what_if,
                                         std::function<void()> const& progress) try {
  question.scenario = question.scenario.with(what_if.changes);
  return searches_of(question, progress);
} catch (InputError const& error) {
  auto const is_of = [&](io::Change const& change) {
    return std::string_view{error.what()}.starts_with(option_of(change));
  };
  if (std::ranges::any_of(what_if.changes, is_of)) throw;
  throw InputError{fmt::format("--what-if {}: {}", one_line(what_if.text), error.what())};
}

double seconds_of_step(reports::PlannedStep const& plan) {
  return to_seconds(plan.step_time).count();
}

/// Why the step stays as long as it was, as far as the network tells.
std::string why_no_effect(reports::PlannedStep const& plan, hardware::Cluster const& cluster,
                          std::vector<io::Change> const& changes) {
  auto const exposed = to_seconds(plan.exposed).count() / seconds_of_step(plan);
  if (exposed < kHidden)
    return fmt::format("no effect: the step waits for communication in {:.1f} % of its time", exposed * 100);
  auto const leads_out = std::ranges::any_of(changes, [](io::Change const& change) {
    return std::ranges::any_of(kWayOutOfNode, [&](std::string_view path) { return change.path.starts_with(path); });
  });
  if (!leads_out) return "no effect";
  return fmt::format("no effect: {}",
                     plan.nodes == 1 ? "one node has all of its GPUs" : what_binds_out_of_node(cluster));
}

/// What the reader of "before" and "after" has to know.
std::string note_on(reports::PlannedStep const& before, reports::PlannedStep const& after,
                    hardware::Cluster const& cluster, std::vector<io::Change> const& changes) {
  auto const batch = [](reports::PlannedStep const& plan) { return plan.token_rate.count() * seconds_of_step(plan); };
  auto const differs = [](double a, double b) { return std::abs(b / a - 1) >= kNoChange; };
  if (differs(batch(before), batch(after)))
    return "the batch changes too: the change is that of the time a token takes";
  return differs(seconds_of_step(before), seconds_of_step(after)) ? "" : why_no_effect(after, cluster, changes);
}

/// The fastest plan on as many GPUs. The one that was the best before is tried too, so that no change looks worse than
/// to keep it.
std::optional<reports::PlannedStep> best_of(ClusterSearch& search, std::int64_t gpus,
                                            std::optional<reports::PlannedStep> const& before) {
  auto plans = search.plans_on(gpus, 1);
  if (before)
    if (auto same = search.same_plan(*before)) plans.push_back(std::move(*same));
  auto const best = std::ranges::min_element(plans, {}, &reports::PlannedStep::step_time);
  return best != plans.end() ? std::optional{std::move(*best)} : std::nullopt;
}

/// On one number of GPUs; what fails says why.
void answer_one(ClusterSearch& search, std::vector<io::Change> const& changes, reports::WhatIf& asked) {
  if (auto const reason = search.why_not_searched(asked.gpus)) {
    asked.note = *reason;
    return;
  }
  try {
    auto best = best_of(search, asked.gpus, asked.before);
    if (!best)
      asked.note = fmt::format("none fits: {}", search.nearest_reason(asked.gpus));
    else if (best->job && reports::is_lost(*best->job))
      asked.note = lost_job_text(*best);
    else
      asked.after = std::move(best);
    if (asked.before && asked.after) asked.note = note_on(*asked.before, *asked.after, *search.base().cluster, changes);
  } catch (InputError const& error) {
    asked.note = error.what();
  }
}

}  // namespace

WhatIfs::WhatIfs(PlanQuestion const& question, std::function<void()> const& progress) {
  for (auto const& what_if : question.what_ifs) asked_.push_back({what_if, searches_with(question, what_if, progress)});
}

void WhatIfs::answer(reports::Plans& plans) {
  for (auto& [what_if, searches] : asked_) {
    for (auto const& count : plans.counts) {
      auto const cluster = std::ranges::find(plans.minimum, count.cluster, &reports::MinimumGpus::cluster);
      auto& search = searches[static_cast<std::size_t>(cluster - plans.minimum.begin())];
      auto asked = reports::WhatIf{.setting = what_if.text,
                                   .cluster = count.cluster,
                                   .gpus = count.gpus,
                                   .before = count.best,
                                   .after = {},
                                   .note = {}};
      answer_one(search, what_if.changes, asked);
      plans.what_if.push_back(std::move(asked));
    }
    for (auto const& search : searches) {
      plans.configurations += search.configurations();
      plans.simulations += search.simulations();
    }
    searches.clear();
  }
}

}  // namespace twinstep::explore::plan
