#include <algorithm>

#include <fmt/format.h>

#include "reports/pages/pages.hpp"
#include "reports/pages/sections.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

void add_headlines(reports::Page& page, Answered const& question) {
  auto const best = question.best();
  if (!best) return;
  auto const& summary = question.run(*best)->summary;
  page.headlines = {
      {"strategy", question.scenarios[*best].strategy_title},
      {"step time", reports::time_text(summary.step_time)},
      {"speed", fmt::format("{} {}", reports::count_text(summary.token_rate.count()), rate_unit(question))},
      {"MFU", reports::percent_text(summary.mfu)},
      {"peak memory", reports::memory_text(summary.peak.total())},
      {"fits", summary.fits ? "yes" : "no"}};
}

/// What the numbers rest on: each text once, with the strategies that it is of where they differ.
void add_calibrations(reports::Page& page, Answered const& question) {
  auto titles = std::vector<std::pair<std::string, std::string>>{};  // calibration, strategies
  for (auto const& scenario : question.scenarios) {
    auto const calibration = machine_of(scenario)->cluster().calibration;
    auto const known = std::ranges::find(titles, calibration, &std::pair<std::string, std::string>::first);
    if (known == titles.end())
      titles.emplace_back(calibration, scenario.strategy_title);
    else
      known->second += ", " + scenario.strategy_title;
  }
  for (auto& [calibration, of] : titles)
    page.facts.emplace_back(titles.size() == 1 ? "calibration" : "calibration of " + of, calibration);
}

/// "Uncalibrated: datasheet rates and global efficiencies, nothing measured on this cluster." The facts say the rest.
std::string calibration_sentence(Answered const& question) {
  auto const calibration = machine_of(question.scenarios[question.best().value_or(0)])->cluster().calibration;
  auto sentence = calibration.substr(0, calibration.find(';'));
  if (!sentence.empty() && sentence.front() >= 'a' && sentence.front() <= 'z')
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  return sentence + ".";
}

}  // namespace

std::string title_of(Answered const& question) {
  auto scenario = question.scenarios.front();
  if (question.scenarios.size() > 1) scenario.strategy_title = fmt::format("{} strategies", question.scenarios.size());
  return scenario.title();
}

reports::Page scenario_page(CloserLook const& look) {
  auto const& question = look.question;
  auto page = reports::Page{.title = title_of(question),
                            .text = answer_sentence(question) + " " + calibration_sentence(question)};
  add_headlines(page, question);
  page.facts = {{"scenario", page.title}};
  add_calibrations(page, question);
  page.warnings = question.scenarios.front().warnings;
  page.sections.push_back(answer_section(question));
  if (!question.best()) return page;  // without a step there is nothing but the answer
  page.sections.push_back(breakdown_section(look));
  if (auto pipeline = pipeline_section(question); !pipeline.charts.empty())
    page.sections.push_back(std::move(pipeline));
  page.sections.push_back(streams_section(question));
  page.sections.push_back(memory_section(question));
  page.sections.push_back(scaling_section(look));
  page.sections.push_back(bus_bandwidth_section(look));
  page.sections.push_back(sensitivity_section(look));
  page.sections.push_back(bucket_size_section(look));
  return page;
}

}  // namespace twinstep::pages
