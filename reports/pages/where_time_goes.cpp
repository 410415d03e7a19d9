#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"
#include "reports/shell_text.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

using reports::BreakdownEntry;
using reports::Summary;

constexpr std::size_t kShownParts = 4;
/// "0.0 %" says nothing.
constexpr double kLeastPart = 0.0005;
constexpr std::size_t kShownChanges = 5;

/// The entries of all strategies, each once, in the order of the breakdown.
std::vector<BreakdownEntry> all_entries(std::vector<Summary const*> const& summaries) {
  auto entries = std::vector<BreakdownEntry>{};
  for (auto const* summary : summaries)
    for (auto const& entry : summary->breakdown) entries.push_back({entry.activity, entry.kind, {}});
  auto const order = [](BreakdownEntry const& entry) { return std::pair{entry.activity, entry.kind}; };
  std::ranges::sort(entries, {}, order);
  entries.erase(std::ranges::unique(entries).begin(), entries.end());
  return entries;
}

reports::Chart chart_of(std::vector<Summary const*> const& summaries, std::vector<std::string> titles) {
  auto longest = Duration{};
  for (auto const* summary : summaries) longest = std::max(longest, summary->step_time);
  auto const unit = time_unit_for(longest);
  auto chart = reports::Chart{.id = "breakdown", .title = "Where the step time goes", .is_stacked = true};
  chart.text =
      "The bars of a strategy add up to its step time: every moment of the rank that ends last is counted once.";
  chart.x.categories = std::move(titles);
  chart.y = {.name = "time", .unit = unit.name};
  for (auto const& entry : all_entries(summaries)) {
    auto series = reports::Series{.name = reports::in_words(entry), .style = reports::SeriesStyle::kBars};
    for (std::size_t i = 0; i < summaries.size(); ++i)
      for (auto const& own : summaries[i]->breakdown)
        if (own.activity == entry.activity && own.kind == entry.kind)
          series.points.push_back(
              {.x = static_cast<double>(i),
               .y = number_in(own.time, unit),
               .note = reports::percent_text(reports::share(own.time, summaries[i]->step_time)) + " of the step"});
    chart.series.push_back(std::move(series));
  }
  return chart;
}

/// "gemm 66.2 %, attention 18.1 %, elementwise 15.1 %"
std::string largest_parts(Summary const& summary) {
  auto entries = summary.breakdown;
  std::ranges::stable_sort(entries, std::greater{}, &BreakdownEntry::time);
  auto text = std::string{};
  for (std::size_t i = 0; i < std::min(entries.size(), kShownParts); ++i)
    if (auto const part = reports::share(entries[i].time, summary.step_time); part >= kLeastPart)
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", reports::in_words(entries[i]), reports::percent_text(part));
  return text;
}

/// @param free  the step times with communication free
reports::PageTable waits_table(Answered const& question, std::vector<std::size_t> const& places,
                               std::vector<Duration> const& free) {
  auto table = reports::PageTable{
      .title = "What each strategy waits for",
      .headers = {"strategy", "most of the time", "busiest link", "without communication", "which costs"}};
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto const& summary = question.run(places[i])->summary;
    auto const cost = summary.step_time - free[i];
    table.rows.push_back({question.scenarios[places[i]].strategy_title, largest_parts(summary), busiest_link(summary),
                          reports::time_text(free[i]),
                          fmt::format("{} ({})", reports::time_text(cost),
                                      reports::percent_text(reports::share(cost, summary.step_time)))});
  }
  return table;
}

}  // namespace

void add_changes(reports::Section& section, reports::Why const& why) {
  if (why.changes.empty()) section.notes.emplace_back("no single change that was tried makes it faster and fits");
  if (why.changes.empty()) return;
  auto& table = section.tables.emplace_back();
  table.headers = {"change", "step time", "saves", "kind"};
  for (std::size_t i = 0; i < std::min(why.changes.size(), kShownChanges); ++i) {
    auto const& change = why.changes[i];
    table.rows.push_back({change.name, reports::time_text(change.step_time),
                          reports::time_text(why.step_time - change.step_time),
                          change.is_hardware ? "hardware" : "software"});
    section.code.push_back("# " + change.name);
    for (auto const& each : change.changes) section.code.push_back(reports::option_in_shell(each));
  }
}

reports::Section breakdown_section(CloserLook const& look) {
  auto const& question = look.question;
  auto section = reports::Section{.title = "Where the step goes"};
  auto places = std::vector<std::size_t>{};
  auto summaries = std::vector<Summary const*>{};
  auto titles = std::vector<std::string>{};
  for (std::size_t i = 0; i < question.outcomes.size(); ++i)
    if (auto const* run = question.run(i)) {
      places.push_back(i);
      summaries.push_back(&run->summary);
      titles.push_back(question.scenarios[i].strategy_title);
    }
  auto const best = *question.best();
  section.text = fmt::format("{} spends its step on {}.", question.scenarios[best].strategy_title,
                             largest_parts(question.run(best)->summary));
  section.charts.push_back(chart_of(summaries, std::move(titles)));
  section.tables.push_back(waits_table(question, places, look.without_communication));
  if (look.why && !look.why->changes.empty()) {
    add_changes(section, *look.why);
    section.tables.back().title = "What would help " + look.why->title + ", one change at a time";
  }
  return section;
}

}  // namespace twinstep::pages
