#include <array>
#include <optional>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/measure/job.hpp"
#include "app/measure/records.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "explore/ask/question.hpp"
#include "reports/breakdown.hpp"
#include "reports/quantity_text.hpp"
#include "reports/summary.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/version.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/outputs.hpp"
#include "sim/io/timeline_json.hpp"
#include "sim/program/checks.hpp"
#include "strategies/compile.hpp"
#include "validate/measure/step_runs.hpp"

namespace twinstep::app {
namespace {

using namespace explore;
using io::check_writable;
using io::write_file;

/// What is run: the program of a scenario, its kernels perhaps emulated.
struct StepToMeasure {
  Scenario scenario;
  program::StepProgram program;
};

/// The passes whose computation is shown.
constexpr auto kPasses = std::array{program::Pass::kForward, program::Pass::kBackward, program::Pass::kUpdate};

/// What the first scenario of the file compiles to. Throws InputError where it cannot be laid out.
StepToMeasure read_step(MeasureStepOptions const& options) {
  auto question = question_of(io::parse_file(options.scenario), io::read_changes("--set", options.settings));
  auto const as_written = read_scenarios(question);
  if (as_written.size() > 1)
    throw InputError{
        fmt::format("{}: found {} strategies, expected one to measure; add --set strategy='{{\"name\": \"{}\"}}'",
                    one_line(options.scenario), as_written.size(), name_of(as_written.front().plan.strategy))};
  if (options.common.ranks)
    question = question.with("strategy.ranks", io::value_node(std::int64_t{*options.common.ranks}));
  auto const scenarios = read_scenarios(question);
  auto compiled = strategies::compile(scenarios.front().model, scenarios.front().plan);
  if (auto const* obstacle = std::get_if<strategies::Infeasible>(&compiled))
    throw InputError{fmt::format("{}: {}; {}", one_line(options.scenario), obstacle->reason, obstacle->way_out)};
  auto step = StepToMeasure{scenarios.front(), std::get<program::StepProgram>(std::move(compiled))};
  program::check(step.program);
  if (options.compute == "delays") step.program = measure::with_delays(step.program, step.scenario.cluster->node().gpu);
  return step;
}

void check_ranks(measure::Job const& job, StepToMeasure const& step) {
  auto const needed = step.program.grids.world_size();
  if (job.ranks != needed)
    throw InputError{
        fmt::format("the scenario has {} ranks, but the job {}; add --set strategy.ranks={}, or start as "
                    "many as the scenario has",
                    needed, job.ranks, job.ranks)};
}

/// The time in which the track's kernels of a pass run.
Duration time_of(timeline::Timeline const& timeline, timeline::TrackId track, program::Pass pass) {
  auto sum = Duration{};
  for (auto const& span : timeline.spans)
    if (span.track == track && is_compute(span.kind) && timeline.pass_of(span) == pass) sum += span.end - span.start;
  return sum;
}

timeline::TrackId last_track(timeline::Timeline const& timeline) {
  auto const last = std::ranges::max_element(timeline.spans, {}, &timeline::Span::end);
  return last == timeline.spans.end() ? timeline::TrackId{0} : last->track;
}

std::string step_text(measure::StepRuns const& runs, reports::Summary const& summary, measure::Job const& job) {
  auto text = fmt::format("{}\nmeasured: {} ranks, {}, {}\n\nstep time {}, {} to {} (10th to 90th percentile of {})\n",
                          summary.scenario, job.ranks, job.library, job.device, reports::time_text(runs.time.median),
                          reports::time_text(runs.time.low), reports::time_text(runs.time.high), runs.time.samples);
  auto const line = [&](std::string_view name, Duration time) {
    text += fmt::format("  {:<28} {:>10}\n", name, reports::time_text(time));
  };
  text += fmt::format("\ncomputation of the median step, {}\n", summary.breakdown_rank);
  for (auto const pass : kPasses) line(name_of(pass), time_of(runs.median, last_track(runs.median), pass));
  text += "\nwhere its time goes\n";
  for (auto const& entry : summary.breakdown) line(reports::breakdown_name(entry), entry.time);
  return text + fmt::format("\nexposed communication of the worst rank {}\n",
                            reports::time_text(summary.exposed_communication));
}

void write_step(io::JsonWriter& json, measure::StepRuns const& runs, reports::Summary const& summary,
                MeasureStepOptions const& options) {
  json.member("measurement", "step");
  json.member("scenario", summary.scenario);
  json.member("compute", options.compute);
  json.member("step_time_s", runs.time.median);
  json.member("low_s", runs.time.low);
  json.member("high_s", runs.time.high);
  json.key("times_s");
  json.begin_array();
  for (auto const time : runs.times) json.value(time);
  json.end_array();
  json.member("tokens", summary.tokens);
  for (auto const pass : kPasses)
    json.member(fmt::format("{}_s", name_of(pass)), time_of(runs.median, last_track(runs.median), pass));
  json.member("exposed_communication_s", summary.exposed_communication);
  write_array(json, "breakdown", summary.breakdown, [&](io::JsonWriter& out, auto const& entry) {
    out.begin_object();
    out.member("name", reports::breakdown_name(entry));
    out.member("seconds", entry.time);
    out.end_object();
  });
}

/// What only this program knows of the timeline.
void complete(timeline::Manifest& manifest, StepToMeasure const& step, MeasureStepOptions const& options) {
  manifest.version = kVersion;
  manifest.scenario = step.scenario.title();
  if (options.compute == "delays")
    manifest.calibration +=
        fmt::format("; computation emulated by delays of {}", step.scenario.cluster->node().gpu.name);
}

}  // namespace

int measure_step(MeasureStepOptions const& options) {
  check_backend(options.common);
  if (options.trace) check_writable("--trace", *options.trace);
  auto records = MeasuredRecords{options.common};
  auto const step = read_step(options);
  auto const ranks = static_cast<int>(step.program.grids.world_size());
  return run_job(options.common, ranks, [&](measure::Executor& executor) {
    check_ranks(executor.job(), step);
    auto progress = std::optional<Progress>{};
    if (executor.job().is_first_process) progress.emplace("measure step", std::string_view{});
    auto runs = measure::run_steps(executor, step.program, options.steps, options.warm_up);
    progress.reset();
    if (!executor.job().is_first_process) return;
    complete(runs.median.manifest, step, options);
    auto const summary = reports::summarize(runs.median);
    records.belong_to(executor.job());
    records.add([&](io::JsonWriter& json) { write_step(json, runs, summary, options); });
    records.finish();
    if (options.trace) write_file(*options.trace, io::to_json(runs.median));
    if (!options.common.as_json) print(step_text(runs, summary, executor.job()));
    auto sampling = sampling_of(options.common);
    sampling.precision = 1;  // a few steps do not know their median better
    warn_of_doubts("the step", runs.time, sampling);
  });
}

}  // namespace twinstep::app
