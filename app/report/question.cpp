#include "app/report/question.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include "app/parallel.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::app {
namespace {

/// What leads beyond the clock or the count of bytes is known only here.
Outcome run_placed(std::string const& path, Scenario const& scenario) try {
  auto outcome = run_step(scenario);
  if (auto* run = std::get_if<Run>(&outcome)) add_way_out(*run, scenario);
  return outcome;
} catch (BeyondRange const& error) {
  throw InputError{fmt::format("{}: {}: {}", one_line(path), scenario.strategy_title, error.what())};
}

}  // namespace

std::optional<std::size_t> Question::best() const {
  auto best = std::optional<std::size_t>{};
  auto const rank = [&](std::size_t i) { return std::tuple{!run(i)->summary.fits, run(i)->summary.step_time}; };
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (run(i) != nullptr && (!best || rank(i) < rank(*best))) best = i;
  return best;
}

std::string Question::strategy_path(std::size_t place) const {
  return scenarios[place].is_one_of_several ? fmt::format("strategy.{}", place) : std::string{"strategy"};
}

Question read_question(std::string const& path, std::vector<std::string> const& settings) {
  auto question = Question{path, settings, read_scenarios(path, settings), {}};
  question.outcomes =
      map_indices(question.scenarios.size(), [&](std::size_t i) { return run_placed(path, question.scenarios[i]); });
  return question;
}

Scenario changed(Question const& question, std::size_t place, std::vector<std::string> const& more) {
  auto settings = question.settings;
  settings.insert(settings.end(), more.begin(), more.end());
  return read_scenarios(question.path, settings).at(place);
}

std::optional<reports::Summary> summary_of(Scenario const& scenario) {
  auto outcome = run_step(scenario);
  if (auto* run = std::get_if<Run>(&outcome)) return std::move(run->summary);
  return std::nullopt;
}

std::string busiest_link(reports::Summary const& summary) {
  auto const busiest = std::ranges::max_element(summary.links, {}, &reports::LinkUse::utilisation);
  if (busiest == summary.links.end()) return std::string{reports::kNoValue};
  return fmt::format("{}, {} of the step", busiest->traffic.name, reports::percent_text(busiest->utilisation));
}

}  // namespace twinstep::app
