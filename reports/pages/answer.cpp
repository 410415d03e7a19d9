#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

using program::MemoryCategory;
using reports::kNoValue;
using reports::NamedSummary;
using reports::Summary;

// Columns of the memory table: categories that belong together in the reader's mind.
constexpr std::size_t kShownGroups = 5;
constexpr std::array<std::string_view, kShownGroups> kGroupTitles{"param", "grad", "optim", "activ", "gather"};

/// The column of a category, or none for the column "other".
constexpr std::size_t group_of(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::kParameters: return 0;
    case MemoryCategory::kGradients: return 1;
    case MemoryCategory::kOptimizer: return 2;
    case MemoryCategory::kActivations:
    case MemoryCategory::kLogits: return 3;
    case MemoryCategory::kGatheredParameters:
    case MemoryCategory::kBuckets: return 4;
    default: return kShownGroups;
  }
}

std::string interval_text(Summary const& summary) {
  if (!summary.interval) return std::string{kNoValue};
  return fmt::format("{} to {}", reports::time_text(summary.interval->low), reports::time_text(summary.interval->high));
}

/// The column of intervals is there where anything has one.
void drop_empty_intervals(reports::PageTable& table) {
  constexpr auto kColumn = 2;
  if (std::ranges::any_of(table.rows, [](auto const& row) { return row[kColumn] != kNoValue; })) return;
  table.headers.erase(table.headers.begin() + kColumn);
  for (auto& row : table.rows) row.erase(row.begin() + kColumn);
}

/// What the answers count, which are of one model.
std::string_view counted_by(std::vector<NamedSummary> const& answers) {
  for (auto const& [name, answer] : answers)
    if (auto const* const summary = std::get_if<Summary>(&answer)) return summary->counted;
  return Summary{}.counted;
}

reports::PageTable speed_table(std::vector<NamedSummary> const& answers, reports::MemoryUnit unit) {
  auto table = reports::PageTable{.headers = {"strategy", "step time", "90 % interval",
                                              fmt::format("{}/s/GPU", counted_by(answers)), "MFU", "exposed",
                                              fmt::format("peak {}", unit.name), "fits"}};
  for (auto const& [name, answer] : answers) {
    auto& row = table.rows.emplace_back(table.headers.size(), std::string{kNoValue});
    row.front() = name;
    row.back() = "no";
    if (auto const* const summary = std::get_if<Summary>(&answer))
      row = {name,
             reports::time_text(summary->step_time),
             interval_text(*summary),
             reports::count_text(summary->token_rate_per_gpu.count()),
             reports::percent_text(summary->mfu),
             reports::time_text(summary->exposed_communication),
             in_unit(summary->peak.total(), unit),
             summary->fits ? "yes" : "no"};
  }
  drop_empty_intervals(table);
  return table;
}

/// Columns add up to the total, what is allocated; "used" is what nvidia-smi would show at most.
reports::PageTable memory_table(std::vector<NamedSummary> const& answers, reports::MemoryUnit unit) {
  auto table = reports::PageTable{.title = "Memory at the peak", .headers = {fmt::format("{} held for", unit.name)}};
  table.headers.insert(table.headers.end(), kGroupTitles.begin(), kGroupTitles.end());
  for (auto const* const header : {"other", "total", "used", "has"}) table.headers.emplace_back(header);
  for (auto const& [name, answer] : answers) {
    auto const* const summary = std::get_if<Summary>(&answer);
    if (summary == nullptr) continue;
    auto groups = std::array<Bytes, kShownGroups + 1>{};
    for (std::size_t i = 0; i < summary->peak.held.size(); ++i)
      groups[group_of(static_cast<MemoryCategory>(i))] += summary->peak.held[i];
    auto& row = table.rows.emplace_back(std::vector{name});
    for (auto const bytes : groups) row.push_back(in_unit(bytes, unit));
    row.push_back(in_unit(summary->peak.total(), unit));
    row.push_back(summary->allocator ? in_unit(summary->reserved_peak.total(), unit) : std::string{kNoValue});
    row.push_back(summary->capacity > Bytes{} ? in_unit(summary->capacity, unit) : std::string{kNoValue});
  }
  return table;
}

/// Why something does not fit or cannot be laid out, and what is tight: a sentence each.
std::vector<std::string> remarks(std::vector<NamedSummary> const& answers) {
  auto notes = std::vector<std::string>{};
  for (auto const& [name, answer] : answers) {
    if (auto const* const infeasible = std::get_if<reports::Infeasible>(&answer))
      notes.push_back(fmt::format("{} cannot run: {}", name, why_it_is_infeasible(*infeasible)));
    else if (auto const& summary = std::get<Summary>(answer); !summary.fits)
      notes.push_back(fmt::format("{} does not fit: {}", name, why_it_does_not_fit(summary)));
    else if (auto const warning = memory_warning(summary); !warning.empty())
      notes.push_back(fmt::format("{}: {}", name, warning));
  }
  return notes;
}

std::vector<NamedSummary> summaries_of(Answered const& question) {
  auto answers = std::vector<NamedSummary>{};
  for (std::size_t i = 0; i < question.outcomes.size(); ++i) {
    auto& answer = answers.emplace_back(question.scenarios[i].strategy_title, Summary{}).answer;
    if (auto const* const run = question.run(i))
      answer = run->summary;
    else
      answer = std::get<reports::Infeasible>(question.outcomes[i]);
  }
  return answers;
}

reports::Chart chart_of(Answered const& question) {
  auto longest = Duration{};
  for (std::size_t i = 0; i < question.outcomes.size(); ++i)
    if (auto const* run = question.run(i)) longest = std::max(longest, run->summary.step_time);
  auto const unit = time_unit_for(longest);
  auto chart = reports::Chart{.id = "answer-step-time", .title = "Step time by strategy"};
  chart.y = {.name = "step time", .unit = unit.name};
  chart.series = {{.name = "step time", .style = reports::SeriesStyle::kBars}};
  for (std::size_t i = 0; i < question.outcomes.size(); ++i) {
    auto const* run = question.run(i);
    if (run == nullptr) continue;
    auto const& summary = run->summary;
    auto point = reports::ChartPoint{.x = static_cast<double>(chart.x.categories.size()),
                                     .y = number_in(summary.step_time, unit),
                                     .note = summary.fits ? "fits" : "does not fit"};
    if (summary.interval) {
      point.y_low = number_in(summary.interval->low, unit);
      point.y_high = number_in(summary.interval->high, unit);
    }
    chart.series.front().points.push_back(std::move(point));
    chart.x.categories.push_back(question.scenarios[i].strategy_title);
  }
  return chart;
}

}  // namespace

std::string answer_sentence(Answered const& question) {
  auto const best = question.best();
  if (!best) return "No strategy can be laid out.";
  auto const& summary = question.run(*best)->summary;
  auto const mfu = summary.mfu ? fmt::format(", {} of the peak (MFU)", reports::percent_text(summary.mfu)) : "";
  auto const& title = question.scenarios[*best].strategy_title;
  auto const who =
      question.outcomes.size() == 1 ? title : fmt::format("Of {} strategies {}", question.outcomes.size(), title);
  auto const role = question.outcomes.size() == 1
                        ? "takes"
                        : (summary.fits ? "is the fastest that fits:" : "is the fastest, and none fits:");
  return fmt::format("{} {} {} a step, {} {}{}.", who, role, reports::time_text(summary.step_time),
                     reports::count_text(summary.token_rate.count()), rate_unit(question), mfu);
}

reports::Section side_by_side(std::vector<NamedSummary> const& answers) {
  auto largest = Bytes{};
  for (auto const& [name, answer] : answers)
    if (auto const* const summary = std::get_if<Summary>(&answer)) largest = std::max(largest, summary->peak.total());
  auto const unit = reports::memory_unit_for(largest);
  auto section = reports::Section{.title = "The answer", .tables = {speed_table(answers, unit)}};
  if (largest > Bytes{}) section.tables.push_back(memory_table(answers, unit));
  section.notes = remarks(answers);
  return section;
}

reports::Section answer_section(Answered const& question) {
  auto section = side_by_side(summaries_of(question));
  if (question.best()) section.charts.push_back(chart_of(question));
  return section;
}

}  // namespace twinstep::pages
