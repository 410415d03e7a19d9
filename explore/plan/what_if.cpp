#include "explore/plan/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "explore/plan/searches.hpp"
#include "explore/plan/way_out_of_node.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/trimmed.hpp"

namespace twinstep::explore::plan {
namespace {

constexpr double kNoChange = 5e-4;  ///< of the step time: what prints as 0.0 %
constexpr double kHidden = 0.01;    ///< of the step: communication that a faster network could not take much from

/// Where the first comma that parts two changes stands, or the end.
std::size_t end_of_change(std::string_view text) {
  auto depth = 0;
  auto is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) return i;
  }
  return text.size();
}

std::string place_of(std::string const& text) {
  return fmt::format("--what-if {}: ", one_line(text));
}

/// A change of what another one changes would leave nothing of it.
void check_apart(std::string const& text, std::vector<io::Change> const& changes) {
  for (auto const& one : changes)
    for (auto const& other : changes)
      if (&one != &other && other.path.starts_with(one.path) &&
          (one.path == other.path || other.path[one.path.size()] == '.'))
        throw InputError{fmt::format("{}found {} and {}, which change the same; give each path once", place_of(text),
                                     quoted(one.path), quoted(other.path))};
}

/// Searches of the question with the changes; what is wrong with them is said of the option in which they stand.
std::vector<ClusterSearch> searches_with(PlanOptions const& options, explore::Question const& question,
                                         std::string const& text, std::vector<io::Change> const& changes,
                                         std::function<void()> const& progress) try {
  return searches_of(options, question.with(changes), progress);
} catch (InputError const& error) {
  auto const is_of = [&](io::Change const& change) {
    return std::string_view{error.what()}.starts_with(option_of(change));
  };
  if (std::ranges::any_of(changes, is_of)) throw;
  throw InputError{fmt::format("{}{}", place_of(text), error.what())};
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
std::optional<reports::PlannedStep> best_of(ClusterSearch& search, std::int64_t gpus, Effort const& effort,
                                            std::optional<reports::PlannedStep> const& before) {
  auto plans = search.plans_on(gpus, effort);
  if (before)
    if (auto same = search.same_plan(*before)) plans.push_back(std::move(*same));
  auto const best = std::ranges::min_element(plans, {}, &reports::PlannedStep::step_time);
  return best != plans.end() ? std::optional{std::move(*best)} : std::nullopt;
}

/// On one number of GPUs; what fails says why.
void answer_one(ClusterSearch& search, std::vector<io::Change> const& changes, Effort const& effort,
                reports::WhatIf& asked) {
  if (auto const reason = search.why_not_searched(asked.gpus)) {
    asked.note = *reason;
    return;
  }
  try {
    auto best = best_of(search, asked.gpus, effort, asked.before);
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

std::vector<io::Change> read_changes(std::string const& text) {
  auto changes = std::vector<io::Change>{};
  for (auto rest = std::string_view{text};;) {
    auto const end = end_of_change(rest);
    auto const change = trimmed(rest.substr(0, end));
    if (change.find('=') == std::string::npos)
      throw InputError{
          fmt::format("{}found no \"=\" in {}, expected path=value, and commas between several; a text that "
                      "holds a comma stands in double quotes",
                      place_of(text), quoted(change))};
    changes.push_back(io::read_change("--what-if", change));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  check_apart(text, changes);
  return changes;
}

WhatIfs::WhatIfs(PlanOptions const& options, explore::Question const& question, std::function<void()> const& progress) {
  for (auto const& text : options.what_if) {
    auto changes = read_changes(text);
    for (auto const& change : changes) check_not_searched(change);
    auto searches = searches_with(options, question, text, changes, progress);
    asked_.push_back({text, std::move(changes), std::move(searches)});
  }
}

void WhatIfs::answer(Effort const& effort, reports::Plans& plans) {
  for (auto& [text, changes, searches] : asked_) {
    for (auto const& count : plans.counts) {
      auto const cluster = std::ranges::find(plans.minimum, count.cluster, &reports::MinimumGpus::cluster);
      auto& search = searches[static_cast<std::size_t>(cluster - plans.minimum.begin())];
      auto asked = reports::WhatIf{
          .setting = text, .cluster = count.cluster, .gpus = count.gpus, .before = count.best, .after = {}, .note = {}};
      answer_one(search, changes, effort, asked);
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
