#include <algorithm>

#include <fmt/format.h>

#include "reports/pages/sections.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

/// What changes the step time by less says nothing.
constexpr double kLeastEffect = 0.0005;

/// Effects that are too small to be drawn are counted.
reports::Chart tornado(std::vector<Effect> const& effects) {
  auto chart =
      reports::Chart{.id = "sensitivity", .title = "A tenth more or less of each parameter", .is_stacked = true};
  chart.y = {.name = "change of the step time", .unit = "%"};
  auto more = reports::Series{.name = "10 % more", .style = reports::SeriesStyle::kBars};
  auto less = reports::Series{.name = "10 % less", .style = reports::SeriesStyle::kBars};
  auto const too_small = std::ranges::count_if(effects, [](Effect const& each) { return each.size() < kLeastEffect; });
  if (too_small > 0)
    chart.text = fmt::format("{} more change it by less than {:.2f} %.", too_small, kLeastEffect * 100);
  for (auto const& effect : effects) {
    if (effect.size() < kLeastEffect) continue;
    auto const x = static_cast<double>(chart.x.categories.size());
    more.points.push_back({.x = x, .y = effect.more * 100, .note = effect.parameter.path});
    less.points.push_back({.x = x, .y = effect.less * 100, .note = effect.parameter.path});
    chart.x.categories.push_back(effect.parameter.name);
  }
  chart.series = {std::move(more), std::move(less)};
  return chart;
}

reports::PageTable table_of(std::vector<Effect> const& effects) {
  auto table = reports::PageTable{.title = "Change of the step time",
                                  .headers = {"parameter", "10 % more", "10 % less", "path"}};
  for (auto const& effect : effects)
    table.rows.push_back({effect.parameter.name, reports::change_text(effect.more), reports::change_text(effect.less),
                          effect.parameter.path});
  return table;
}

}  // namespace

reports::Section sensitivity_section(CloserLook const& look) {
  auto section = reports::Section{.title = "Sensitivity"};
  auto const& first = look.effects.front();
  section.text = fmt::format(
      "Each parameter of the machine by itself, simulated anew for {}. The step depends most on the {}: a tenth more "
      "of it changes the step time by {}, a tenth less by {}.",
      look.question.scenarios[*look.question.best()].strategy_title, first.parameter.name,
      reports::change_text(first.more), reports::change_text(first.less));
  if (first.size() >= kLeastEffect) section.charts.push_back(tornado(look.effects));
  section.tables.push_back(table_of(look.effects));
  return section;
}

}  // namespace twinstep::pages
