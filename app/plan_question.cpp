#include "app/plan_question.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/base/trimmed.hpp"

namespace twinstep::app {
namespace {

using namespace explore;

/// Whether it changes `path` or something below it.
bool is_within(io::Change const& change, std::string_view path) {
  return change.path.starts_with(path) && (change.path.size() == path.size() || change.path[path.size()] == '.');
}

/// Of what a plan searches itself, or is asked for otherwise.
void refuse_searched(io::Change const& change) {
  constexpr auto kSearched = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"strategy", "name one with --strategy, or ask `twinstep simulate`"},
       {"training.micro_batch", "leave it out, or ask `twinstep simulate`"},
       {"training.gradient_accumulation", "leave it out, or ask `twinstep simulate`"},
       {"cluster.nodes", "give numbers of GPUs with --gpus"}});
  for (auto const& [path, way_out] : kSearched)
    if (is_within(change, path))
      throw InputError{fmt::format("{}: found {}, which a plan searches itself; {}", option_of(change), path, way_out)};
}

Question read_scenario(PlanOptions const& options) {
  auto changes = io::read_changes("--set", options.settings);
  for (auto const& change : changes)
    if (!change.path.starts_with("cluster.nodes")) refuse_searched(change);
  return question_of(io::parse_file(options.scenario), std::move(changes));
}

std::vector<strategies::StrategyName> read_strategies(std::vector<std::string> const& names) {
  auto strategies = std::vector<strategies::StrategyName>{};
  for (auto const& name : names) {
    auto const found = find_enum<strategies::StrategyName>(name);
    if (!found)
      throw InputError{fmt::format("--strategy: found {}; {}", quoted(name),
                                   suggest_name(name, all_names<strategies::StrategyName>()))};
    strategies.push_back(*found);
  }
  return strategies;
}

std::vector<io::Node> read_clusters(std::vector<std::string> const& clusters) {
  auto values = std::vector<io::Node>{};
  for (auto each = clusters.begin(); each != clusters.end(); ++each) {
    if (std::find(clusters.begin(), each, *each) != each)
      throw InputError{fmt::format("--cluster: found {} twice; give each once", *each)};
    values.push_back(io::read_value("--cluster", *each));
  }
  return values;
}

/// Costs are compared, with each other and with the budget.
std::vector<plan::HourlyPrice> read_prices(PlanOptions const& options, plan::Goal const& goal) {
  auto const clusters = std::max<std::size_t>(options.clusters.size(), 1);
  if (options.prices.size() > 1 && options.prices.size() != clusters)
    throw InputError{fmt::format("--price: found {} prices for {} clusters; give one, or one for each",
                                 options.prices.size(), clusters)};
  auto prices = std::vector<plan::HourlyPrice>{};
  for (auto const& text : options.prices) prices.push_back(read_price(text));
  for (auto const& each : prices) {
    auto const& currency = each.price.value.currency;
    if (goal.budget && goal.budget->currency != currency)
      throw InputError{
          fmt::format("--budget: found {}, but --price is in {}; use one currency", goal.budget->currency, currency)};
    if (auto const& first = prices.front().price.value.currency; first != currency)
      throw InputError{fmt::format("--price: found {} and {}; give all prices in one currency", first, currency)};
  }
  return prices;
}

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

/// A change of what another one changes would leave nothing of it.
void check_apart(plan::WhatIf const& what_if) {
  for (auto const& one : what_if.changes)
    for (auto const& other : what_if.changes)
      if (&one != &other && is_within(other, one.path))
        throw InputError{fmt::format("--what-if {}: found {} and {}, which change the same; give each path once",
                                     one_line(what_if.text), quoted(one.path), quoted(other.path))};
}

}  // namespace

plan::WhatIf read_what_if(std::string const& text) {
  auto what_if = plan::WhatIf{text, {}};
  for (auto rest = std::string_view{text};;) {
    auto const end = end_of_change(rest);
    auto const change = trimmed(rest.substr(0, end));
    if (change.find('=') == std::string::npos)
      throw InputError{fmt::format(
          "--what-if {}: found no \"=\" in {}, expected path=value, and commas between several; a text that "
          "holds a comma stands in double quotes",
          one_line(text), quoted(change))};
    what_if.changes.push_back(io::read_change("--what-if", change));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  check_apart(what_if);
  return what_if;
}

plan::PlanQuestion read_plan_question(PlanOptions const& options) {
  auto strategies = read_strategies(options.strategies);
  auto question = plan::PlanQuestion{.scenario = read_scenario(options),
                                     .clusters = read_clusters(options.clusters),
                                     .strategies = std::move(strategies),
                                     .gpus = {},
                                     .goal = read_goal(options),
                                     .prices = {},
                                     .what_ifs = {},
                                     .top = static_cast<std::size_t>(options.top)};
  if (options.gpus) question.gpus = read_gpus(*options.gpus);
  if (options.headroom) question.headroom = read_share("--headroom", *options.headroom);
  question.prices = read_prices(options, question.goal);
  for (auto const& text : options.what_if) {
    question.what_ifs.push_back(read_what_if(text));
    for (auto const& change : question.what_ifs.back().changes) refuse_searched(change);
  }
  return question;
}

}  // namespace twinstep::app
