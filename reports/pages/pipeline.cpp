#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "reports/intervals.hpp"
#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using program::Pass;
using reports::StageSummary;
using timeline::Span;
using timeline::Timeline;
using timeline::TrackId;

/// A character of the drawing.
char letter_of(Pass pass) {
  switch (pass) {
    case Pass::kNone: return '.';
    case Pass::kForward: return 'f';
    case Pass::kRecompute: return 'r';
    case Pass::kBackward: return 'b';
    case Pass::kWeightGradient: return 'w';
    case Pass::kUpdate: return 'u';
  }
  return ' ';
}

std::string drawn(StageSummary const& stage) {
  auto text = std::string{};
  for (auto const pass : stage.drawn) text += letter_of(pass);
  return text;
}

/// Kernels of one pass over one micro-batch that follow each other.
struct PassBar {
  Pass pass = Pass::kNone;
  std::int32_t micro_batch = program::Scope::kNoMicroBatch;
  Time begin;
  Time end;
};

std::vector<PassBar> pass_bars(Timeline const& timeline, TrackId track) {
  auto bars = std::vector<PassBar>{};
  for (auto const& span : reports::spans_of(timeline, track)) {
    auto const pass = timeline.pass_of(span);
    if (!program::is_compute(span.kind) || span.start == span.end || pass == Pass::kNone) continue;
    auto const micro_batch = timeline.micro_batch_of(span);
    if (!bars.empty() && bars.back().pass == pass && bars.back().micro_batch == micro_batch)
      bars.back().end = std::max(bars.back().end, span.end);
    else
      bars.push_back({pass, micro_batch, span.start, span.end});
  }
  return bars;
}

}  // namespace

reports::Section stages_section(reports::Summary const& summary) {
  auto const& fullest = reports::fullest_stage(summary.stages);
  auto table = reports::PageTable{
      .headers = {"stage", "ranks", "computes", "exposed", "waits for stages", "waits for ranks", "peak"}};
  auto picture = reports::PageTable{.headers = {"stage", "the step, from left to right"}};
  for (auto const& stage : summary.stages) {
    table.rows.push_back({stage.name, reports::whole_text(stage.ranks), reports::time_text(stage.compute),
                          reports::time_text(stage.exposed), reports::time_text(stage.waits_for_stages),
                          reports::time_text(stage.waits_for_ranks), reports::memory_text(stage.peak.total())});
    picture.rows.push_back({stage.name, drawn(stage)});
  }
  return {.title = "Stage by stage",
          .tables = {std::move(table), std::move(picture)},
          .notes = {
              "f forward, b backward, w weight gradients, r recomputation, u update, . no kernel for half of the time",
              fmt::format("{} holds most: {}{}", fullest.name, reports::memory_text(fullest.peak.total()),
                          fullest.peak.at.empty() ? "" : ", at " + fullest.peak.at)}};
}

reports::Chart pipeline_chart(Timeline const& timeline, std::string id, std::string title) {
  auto chart = reports::Chart{.id = std::move(id), .title = std::move(title)};
  chart.y.name = "stage";
  auto const unit = time_unit_for(timeline.step_time);
  chart.x = {.name = "time", .unit = unit.name};
  auto series = std::map<Pass, reports::Series>{};
  for (std::size_t track = 0; track < timeline.tracks.size(); ++track) {
    auto const& role = timeline.tracks[track].role;
    if (std::ranges::find(chart.y.categories, role) != chart.y.categories.end()) continue;
    auto const row = static_cast<double>(chart.y.categories.size());
    chart.y.categories.push_back(role);
    for (auto const& bar : pass_bars(timeline, TrackId{track})) {
      auto& of_pass = series[bar.pass];
      of_pass.name = name_of(bar.pass);
      of_pass.style = reports::SeriesStyle::kSpans;
      auto const which = bar.micro_batch >= 0 ? fmt::format("micro-batch {}", bar.micro_batch) : std::string{};
      of_pass.points.push_back({.x = number_in(bar.begin, unit), .y = row, .note = which});
      of_pass.x_ends.push_back(number_in(bar.end, unit));
    }
  }
  for (auto& [pass, of_pass] : series) chart.series.push_back(std::move(of_pass));
  return chart;
}

reports::Section pipeline_section(explore::Answered const& question) {
  auto section = reports::Section{.title = "The pipeline"};
  section.text = "What the kernels of each stage are for. Where there is no bar, a stage waits or communicates.";
  for (auto const i : question.best_first()) {
    auto const& timeline = question.run(i)->timeline;
    if (question.run(i)->summary.stages.empty()) continue;
    auto chart = pipeline_chart(timeline, fmt::format("pipeline-{}", i + 1), question.scenarios[i].strategy_title);
    chart.fold = question.fold(i);
    section.charts.push_back(std::move(chart));
  }
  return section;
}

}  // namespace twinstep::pages
