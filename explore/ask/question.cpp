#include "explore/ask/question.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include "explore/ask/parallel.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore {
namespace {

/// What leads beyond the clock or the count of bytes is known only here.
Outcome run_placed(std::string const& path, Scenario const& scenario) try {
  auto outcome = run_step(scenario);
  if (auto* run = std::get_if<Run>(&outcome)) add_way_out(*run, scenario);
  return outcome;
} catch (BeyondRange const& error) {
  throw InputError{fmt::format("{}: {}: {}", one_line(path), scenario.strategy_title, error.what())};
}

/// "tokens" or "samples".
std::string_view counted(Question const& question) {
  auto const best = question.best();
  return best ? question.run(*best)->summary.counted : std::string_view{"tokens"};
}

}  // namespace

std::optional<std::size_t> Question::best() const {
  auto best = std::optional<std::size_t>{};
  auto const rank = [&](std::size_t i) { return std::tuple{!run(i)->summary.fits, run(i)->summary.step_time}; };
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (run(i) != nullptr && (!best || rank(i) < rank(*best))) best = i;
  return best;
}

std::string Question::fold(std::size_t place) const {
  return best() == place ? std::string{} : std::string{"The same of the other strategies"};
}

std::vector<std::size_t> Question::best_first() const {
  auto places = std::vector<std::size_t>{};
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (run(i) != nullptr) places.push_back(i);
  std::ranges::stable_partition(places, [&](std::size_t i) { return best() == i; });
  return places;
}

std::string Question::strategy_path(std::size_t place) const {
  return scenarios[place].is_one_of_several ? fmt::format("strategy.{}", place) : std::string{"strategy"};
}

Question read_question(std::string const& path, std::vector<std::string> const& settings) {
  return {path, settings, read_scenarios(path, settings), {}};
}

void run_steps(Question& question) {
  question.outcomes = map_indices(question.scenarios.size(),
                                  [&](std::size_t i) { return run_placed(question.path, question.scenarios[i]); });
}

Scenario changed(Question const& question, std::size_t place, std::vector<std::string> const& more) {
  auto settings = question.settings;
  settings.insert(settings.end(), more.begin(), more.end());
  return read_scenarios(question.path, settings).at(place);
}

Outcome run_variation(Scenario const& scenario, engine::RunOptions options) {
  return run_step(scenario, engine::Machine{machine_of(scenario), scenario.plan.ranks}, options, Checks::kNone);
}

std::string unit_counted(Question const& question) {
  auto const several = counted(question);
  return std::string{several.substr(0, several.size() - 1)};
}

std::string rate_unit(Question const& question) {
  return fmt::format("{}/s", counted(question));
}

std::string busiest_link(reports::Summary const& summary) {
  auto const busiest = std::ranges::max_element(summary.links, {}, &reports::LinkUse::utilisation);
  if (busiest == summary.links.end()) return std::string{reports::kNoValue};
  return fmt::format("{}, {} of the step", busiest->traffic.name, reports::percent_text(busiest->utilisation));
}

}  // namespace twinstep::explore
