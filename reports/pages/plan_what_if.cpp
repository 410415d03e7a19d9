#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "reports/job_text.hpp"
#include "reports/pages/plan_sections.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using reports::gpus_text;
using reports::kNoValue;
using reports::PlannedStep;
using reports::Plans;
using reports::WhatIf;

/// What a question's notes say, each once: "64, 128 GPUs: no effect: …".
std::vector<std::string> notes(std::span<WhatIf const> answers) {
  auto gpus_by_note = std::vector<std::pair<std::string, std::vector<std::int64_t>>>{};
  for (auto const& each : answers) {
    if (each.note.empty()) continue;
    auto known = std::ranges::find(gpus_by_note, each.note, [](auto const& pair) { return pair.first; });
    if (known == gpus_by_note.end()) known = gpus_by_note.insert(known, {each.note, {}});
    if (std::ranges::find(known->second, each.gpus) == known->second.end()) known->second.push_back(each.gpus);
  }
  auto texts = std::vector<std::string>{};
  for (auto const& [note, gpus] : gpus_by_note) {
    auto const where = gpus.size() == 1 ? gpus_text(gpus.front()) : fmt::format("{} GPUs", numbers_text(gpus));
    texts.push_back(fmt::format("{}: {}", where, note));
  }
  return texts;
}

/// Of the whole job, or of a step.
std::string time_taken(std::optional<PlannedStep> const& plan) {
  if (!plan) return std::string{kNoValue};
  return plan->job ? reports::long_time_text(plan->job->time) : reports::time_text(plan->step_time);
}

/// Of the time that the job takes, or a token: a question may change the batch.
std::string time_change(std::optional<PlannedStep> const& before, std::optional<PlannedStep> const& after) {
  if (!before || !after) return std::string{kNoValue};
  if (before->job && after->job) return reports::change_text(after->job->time.count() / before->job->time.count() - 1);
  return reports::change_text(before->token_rate.count() / after->token_rate.count() - 1);
}

reports::PageTable table_of(std::span<WhatIf const> answers, bool has_clusters, bool has_jobs) {
  auto table = reports::PageTable{.headers = {"GPUs", "best plan then", has_jobs ? "time" : "step", "then", "change"}};
  if (has_clusters) table.headers.insert(table.headers.begin(), "cluster");
  for (auto const& [_, cluster, gpus, before, after, note] : answers) {
    auto row =
        std::vector<std::string>{reports::whole_text(gpus), after ? strategy_text(*after) : std::string{kNoValue},
                                 time_taken(before), time_taken(after), time_change(before, after)};
    if (has_clusters) row.insert(row.begin(), cluster);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

void add_what_if(reports::Page& page, Plans const& plans) {
  for (auto each = plans.what_if.begin(); each != plans.what_if.end();) {
    auto const end =
        std::find_if(each, plans.what_if.end(), [&](WhatIf const& other) { return other.setting != each->setting; });
    auto const answers = std::span{each, end};
    page.sections.push_back({.title = fmt::format("With {}", each->setting),
                             .tables = {table_of(answers, plans.minimum.size() > 1, plans.goal.tokens.has_value())},
                             .notes = notes(answers)});
    each = end;
  }
}

}  // namespace twinstep::pages
