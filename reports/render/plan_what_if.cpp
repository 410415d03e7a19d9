#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "reports/job_text.hpp"
#include "reports/quantity_text.hpp"
#include "reports/render/plan_parts.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

/// What a question's notes say, each once: "64, 128 GPUs: no effect: …".
std::string notes(std::span<WhatIf const> answers, TextStyle const& style) {
  auto gpus_by_note = std::vector<std::pair<std::string, std::vector<std::int64_t>>>{};
  for (auto const& each : answers) {
    if (each.note.empty()) continue;
    auto known = std::ranges::find(gpus_by_note, each.note, [](auto const& pair) { return pair.first; });
    if (known == gpus_by_note.end()) known = gpus_by_note.insert(known, {each.note, {}});
    if (std::ranges::find(known->second, each.gpus) == known->second.end()) known->second.push_back(each.gpus);
  }
  auto text = std::string{};
  for (auto const& [note, gpus] : gpus_by_note) {
    auto const where = gpus.size() == 1 ? gpus_text(gpus.front()) : fmt::format("{} GPUs", numbers_text(gpus));
    text += wrapped(fmt::format("{}: {}", where, note), "  ", style);
  }
  return text;
}

/// Of the whole job, or of a step.
std::string time_taken(std::optional<PlannedStep> const& plan) {
  if (!plan) return std::string{kNoValue};
  return plan->job ? long_time_text(plan->job->time) : time_text(plan->step_time);
}

/// Of the time that the job takes, or a token: a question may change the batch.
std::string time_change(std::optional<PlannedStep> const& before, std::optional<PlannedStep> const& after) {
  if (!before || !after) return std::string{kNoValue};
  if (before->job && after->job) return change_text(after->job->time.count() / before->job->time.count() - 1);
  return change_text(before->token_rate.count() / after->token_rate.count() - 1);
}

std::string answers_of(std::span<WhatIf const> answers, bool has_clusters, bool has_jobs, TextStyle const& style) {
  auto columns = std::vector<Column>{};
  if (has_clusters) columns.push_back({"cluster", Align::kLeft, true});
  for (auto&& column : {Column{"GPUs"}, Column{"best plan then", Align::kLeft, true},
                        Column{has_jobs ? "time" : "step"}, Column{"then"}, Column{"change"}})
    columns.push_back(column);
  auto table = Table{std::move(columns)};
  for (auto const& [_, cluster, gpus, before, after, note] : answers) {
    auto cells = std::vector<Cell>{};
    if (has_clusters) cells.emplace_back(cluster);
    for (auto&& text : {whole_text(gpus), after ? strategy_text(*after) : std::string{kNoValue}, time_taken(before),
                        time_taken(after), time_change(before, after)})
      cells.emplace_back(text);
    table.add_row(std::move(cells));
  }
  return table.render(style) + notes(answers, style);
}

}  // namespace

std::string what_if_text(Plans const& plans, TextStyle const& style) {
  auto text = std::string{};
  for (auto each = plans.what_if.begin(); each != plans.what_if.end();) {
    auto const end =
        std::find_if(each, plans.what_if.end(), [&](WhatIf const& other) { return other.setting != each->setting; });
    text += '\n';
    text += toned(wrapped(fmt::format("With {}", one_line(each->setting)), "", style), Tone::kHeader, style);
    text += answers_of(std::span{each, end}, plans.minimum.size() > 1, plans.goal.tokens.has_value(), style);
    each = end;
  }
  return text;
}

}  // namespace twinstep::reports
