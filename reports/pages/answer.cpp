#include <algorithm>

#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

using reports::kNoValue;
using reports::Summary;

std::string interval_text(Summary const& summary) {
  if (!summary.interval) return std::string{kNoValue};
  return fmt::format("{} to {}", reports::time_text(summary.interval->low), reports::time_text(summary.interval->high));
}

std::vector<std::string> row_of(std::string const& title, Summary const& summary) {
  return {title,
          reports::time_text(summary.step_time),
          interval_text(summary),
          reports::count_text(summary.token_rate.count()),
          reports::count_text(summary.token_rate_per_gpu.count()),
          reports::percent_text(summary.mfu),
          reports::time_text(summary.exposed_communication),
          reports::memory_text(summary.peak.total()),
          summary.fits ? "yes" : "no"};
}

/// The column of intervals is there where anything has one.
void drop_empty_intervals(reports::PageTable& table) {
  constexpr auto kColumn = 2;
  if (std::ranges::any_of(table.rows, [](auto const& row) { return row[kColumn] != kNoValue; })) return;
  table.headers.erase(table.headers.begin() + kColumn);
  for (auto& row : table.rows) row.erase(row.begin() + kColumn);
}

reports::PageTable table_of(Answered const& question) {
  auto table = reports::PageTable{.title = "What each strategy comes to",
                                  .headers = {"strategy", "step time", "90 % interval", rate_unit(question),
                                              rate_unit(question) + "/GPU", "MFU", "exposed", "peak memory", "fits"}};
  for (std::size_t i = 0; i < question.outcomes.size(); ++i) {
    auto const& title = question.scenarios[i].strategy_title;
    if (auto const* run = question.run(i)) {
      table.rows.push_back(row_of(title, run->summary));
      continue;
    }
    auto row = std::vector<std::string>(table.headers.size(), std::string{kNoValue});
    row.front() = title;
    row.back() = "no";
    table.rows.push_back(std::move(row));
  }
  drop_empty_intervals(table);
  return table;
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

/// Why something does not fit or cannot be laid out, and what is tight: a sentence each.
std::string remarks(Answered const& question) {
  auto text = std::string{};
  for (std::size_t i = 0; i < question.outcomes.size(); ++i) {
    auto const& title = question.scenarios[i].strategy_title;
    auto const* run = question.run(i);
    if (run == nullptr) {
      auto const& obstacle = std::get<reports::Infeasible>(question.outcomes[i]);
      text += fmt::format("{} cannot be laid out: {}{}. ", title, obstacle.reason,
                          obstacle.way_out.empty() ? "" : "; " + obstacle.way_out);
    } else if (!run->summary.fits) {
      text += fmt::format("{} does not fit: {}. ", title, reports::why_it_does_not_fit(run->summary));
    } else if (auto const warning = reports::memory_warning(run->summary); !warning.empty()) {
      text += fmt::format("{}: {}. ", title, warning);
    }
  }
  return text;
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

reports::Section answer_section(Answered const& question) {
  auto section = reports::Section{.title = "The answer", .text = remarks(question)};
  section.tables.push_back(table_of(question));
  if (question.best()) section.charts.push_back(chart_of(question));
  return section;
}

}  // namespace twinstep::pages
