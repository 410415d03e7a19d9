#include <cctype>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "explore/ask/answered.hpp"
#include "explore/ask/assumptions.hpp"
#include "explore/plan/way_out.hpp"
#include "explore/scale/why.hpp"
#include "hw_profiles/cluster_document.hpp"
#include "reports/pages/pages.hpp"
#include "reports/render/page_text.hpp"
#include "reports/summary.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/outputs.hpp"
#include "sim/io/program_json.hpp"
#include "sim/io/timeline_json.hpp"

namespace twinstep::app {
namespace {

using namespace explore;
using namespace pages;

using io::is_special;
using io::Outputs;

using Clock = std::chrono::steady_clock;

/// The answer for one scenario, and how long it took.
struct TimedAnswer {
  reports::NamedSummary summary;
  Seconds wall;
  std::optional<reports::Why> why;
};

/// 64-bit FNV-1a (RFC 9923), in hexadecimal: tells apart what differs by accident, not what somebody forged.
std::string hash_of(std::string_view text) {
  auto hash = std::uint64_t{0xcbf29ce484222325U};
  for (auto const byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

/// "run.trace.json" for one scenario, "run.zero-3-recompute.trace.json" for one of several. A device has one name.
std::string trace_path(std::string const& path, Scenario const& scenario, bool is_one_of_several) {
  if (!is_one_of_several || is_special(path)) return path;
  auto label = std::string{};
  for (auto const c : scenario.strategy_title) {
    auto const is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    if (is_plain || (!label.empty() && label.back() != '-')) label += is_plain ? c : '-';
  }
  if (label.ends_with('-')) label.pop_back();
  auto const file = std::filesystem::path{path};
  auto stem = file.stem();
  auto extension = file.extension().string();
  if (stem.extension() == ".trace") {
    stem = stem.stem();
    extension = ".trace" + extension;
  }
  return (file.parent_path() / fmt::format("{}.{}{}", stem.string(), label, extension)).string();
}

void write_trace(Outputs& outputs, std::string const& path, Run& run, Scenario const& scenario) {
  run.timeline.manifest.program_hash = hash_of(io::to_json(run.step));
  run.timeline.manifest.machine_hash =
      hash_of(io::document_lines(hw_profiles::cluster_document(machine_of(scenario)->cluster())));
  outputs.write(path, io::to_json(run.timeline));
}

/// Answers the scenario at `place`, the next one.
TimedAnswer answer_next(Answered& question, std::size_t place, engine::RunOptions const& options,
                        MicroBatches micro_batches) {
  auto const start = Clock::now();
  auto const& scenario = question.scenarios[place];
  auto& outcome = question.outcomes.emplace_back(run_placed(question, place, options, micro_batches));
  auto answer = TimedAnswer{{scenario.strategy_title, {}}, {}, {}};
  if (auto* const run = std::get_if<Run>(&outcome)) {
    add_way_out(*run, scenario);
    answer.summary.answer = run->summary;
  } else {
    answer.summary.answer = std::get<reports::Infeasible>(outcome);
  }
  answer.wall = Seconds{std::chrono::duration<double>(Clock::now() - start).count()};
  return answer;
}

void write_json(io::JsonWriter& json, TimedAnswer const& answer) {
  if (auto const* infeasible = std::get_if<reports::Infeasible>(&answer.summary.answer))
    return write_summary(json, *infeasible, answer.wall);
  write_summary(json, std::get<reports::Summary>(answer.summary.answer), answer.wall, answer.why);
}

std::string all_json(std::vector<TimedAnswer> const& answers) {
  constexpr std::size_t kLinesInRuns = 4;
  auto json = answers.size() == 1 ? io::JsonWriter{} : io::JsonWriter{kLinesInRuns};
  if (answers.size() == 1) {
    write_json(json, answers.front());
  } else {
    json.begin_object();
    write_array(json, "runs", answers, write_json);
    json.end_object();
  }
  return std::move(json).finish();
}

reports::Page page_of(Answered const& question, std::string title, std::vector<TimedAnswer> const& answers,
                      engine::Fidelity fidelity) {
  auto summaries = std::vector<reports::NamedSummary>{};
  for (auto const& answer : answers) summaries.push_back(answer.summary);
  auto page = summary_page(std::move(title), summaries);
  if (auto const best = question.best(); best && fidelity == engine::Fidelity::kFolded)
    add_assumptions(page, question.scenarios[*best].strategy_title, assumptions_of(question, *best));
  for (auto const& answer : answers)
    if (answer.why) add_why(page, std::get<reports::Summary>(answer.summary.answer), *answer.why);
  return page;
}

/// Throws InputError where the options ask for what simulates a step's variations too: these are folded.
void refuse_variations(SimulateOptions const& options) {
  for (auto const& [option, is_given] : {std::pair{"--report", options.report.has_value()}, {"--why", options.why}})
    if (is_given)
      throw InputError{
          fmt::format("--fidelity {0}: found with {1}, which compares hundreds of folded steps; leave --fidelity out, "
                      "or ask for {1} "
                      "by itself",
                      options.fidelity, option)};
}

}  // namespace

int simulate(SimulateOptions const& options) {
  auto const fidelity = find_enum<engine::Fidelity>(options.fidelity).value_or(engine::Fidelity::kFolded);
  if (fidelity != engine::Fidelity::kFolded) refuse_variations(options);
  auto question =
      without_answers(question_of(io::parse_file(options.scenario), io::read_changes("--set", options.settings)));
  auto const& scenarios = question.scenarios;
  auto outputs = Outputs{{options.scenario}};
  auto traces = std::vector<std::string>(scenarios.size());
  for (std::size_t i = 0; options.trace && i < scenarios.size(); ++i) {
    traces[i] = trace_path(*options.trace, scenarios[i], scenarios.size() > 1);
    outputs.expect("--trace", traces[i]);
  }
  auto const render = options.report ? renderer_of("--report", *options.report) : nullptr;
  if (options.report) outputs.expect("--report", *options.report);
  check_printable();
  for (auto const& warning : scenarios.front().warnings) warn(warning);

  auto const micro_batches = options.trace || options.report ? MicroBatches::kAll : MicroBatches::kFew;
  auto answers = std::vector<TimedAnswer>{};
  auto progress = std::optional<Progress>{std::in_place, "simulate", "strategies"};
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    if (scenarios.size() > 1) progress->at(static_cast<std::int64_t>(i), static_cast<std::int64_t>(scenarios.size()));
    answers.push_back(answer_next(question, i, {.fidelity = fidelity}, micro_batches));
    auto* const run = std::get_if<Run>(&question.outcomes.back());
    if (options.trace && run != nullptr) write_trace(outputs, traces[i], *run, scenarios[i]);
  }
  if (options.why)
    for (std::size_t i = 0; i < scenarios.size(); ++i) answers[i].why = explain(question, i);
  progress.reset();
  auto title = title_of(question);
  auto const text_page = options.as_json ? reports::Page{} : page_of(question, title, answers, fidelity);
  if (options.report) {
    auto progress = Progress{"report", "parts"};
    outputs.write(*options.report, render(report_page(std::move(question), progress.of_parts())));
  }
  print(options.as_json ? all_json(answers) : page_text(text_page, standard_output_style()));
  outputs.commit();
  return kDone;
}

}  // namespace twinstep::app
