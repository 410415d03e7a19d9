#include "explore/ask/answered.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include "explore/ask/parallel.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore {
namespace {

/// "tokens" or "samples".
std::string_view counted(Answered const& question) {
  auto const best = question.best();
  return best ? question.run(*best)->summary.counted : std::string_view{"tokens"};
}

}  // namespace

std::optional<std::size_t> Answered::best() const {
  auto best = std::optional<std::size_t>{};
  auto const rank = [&](std::size_t i) { return std::tuple{!run(i)->summary.fits, run(i)->summary.step_time}; };
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (run(i) != nullptr && (!best || rank(i) < rank(*best))) best = i;
  return best;
}

std::string Answered::fold(std::size_t place) const {
  return best() == place ? std::string{} : std::string{"The same of the other strategies"};
}

std::vector<std::size_t> Answered::best_first() const {
  auto places = std::vector<std::size_t>{};
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (run(i) != nullptr) places.push_back(i);
  std::ranges::stable_partition(places, [&](std::size_t i) { return best() == i; });
  return places;
}

std::string Answered::strategy_path(std::size_t place) const {
  return scenarios[place].is_one_of_several ? fmt::format("strategy.{}", place) : std::string{"strategy"};
}

Scenario Answered::changed(std::size_t place, std::vector<io::Change> const& more) const {
  return read_scenarios(question.with(more)).at(place);
}

Answered without_answers(Question question) {
  auto scenarios = read_scenarios(question);
  return {std::move(question), std::move(scenarios), {}};
}

Outcome run_placed(Answered const& question, std::size_t place, engine::RunOptions options,
                   MicroBatches micro_batches) try {
  return run_step(question.scenarios[place], options, Checks::kAll, micro_batches);
} catch (BeyondRange const& error) {
  throw InputError{fmt::format("{}: {}: {}", one_line(question.question.name()),
                               question.scenarios[place].strategy_title, error.what())};
}

void run_steps(Answered& question) {
  question.outcomes = map_indices(question.scenarios.size(),
                                  [&](std::size_t i) { return run_placed(question, i, {}, MicroBatches::kAll); });
}

std::string unit_counted(Answered const& question) {
  auto const several = counted(question);
  return std::string{several.substr(0, several.size() - 1)};
}

std::string rate_unit(Answered const& question) {
  return fmt::format("{}/s", counted(question));
}

std::string busiest_link(reports::Summary const& summary) {
  auto const busiest = std::ranges::max_element(summary.links, {}, &reports::LinkUse::utilisation);
  if (busiest == summary.links.end()) return std::string{reports::kNoValue};
  return fmt::format("{}, {} of the step", busiest->traffic.name, reports::percent_text(busiest->utilisation));
}

}  // namespace twinstep::explore
