#include "reports/pages/pages.hpp"

#include <fstream>
#include <sstream>

#include "reports/compare.hpp"
#include "reports/render/page_text.hpp"
#include "reports/table.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/steps.hpp"
#include "tests/support/summary_json.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::reports;
using program::MemoryCategory;
using program::WorkKind;

namespace {

std::string golden(std::string const& name) {
  auto file = std::ifstream{TWINSTEP_SOURCE_FOLDER "/tests/golden/" + name};
  auto text = std::ostringstream{};
  text << file.rdbuf();
  return std::move(text).str();
}

/// The step of full_step on GPUs that are too small for it.
Summary step_that_does_not_fit() {
  auto step = tests::full_step();
  step.manifest.memory_capacity = 24_GiB;
  return summarize(step);
}

/// The screen of one answer.
std::string summary_text(std::variant<Summary, Infeasible> const& answer) {
  return page_text(pages::summary_page("two-layer toy", {{"toy", answer}}), {});
}

std::string scenarios_table(std::vector<NamedSummary> const& answers) {
  return page_text(pages::summary_page("two-layer toy", answers), {});
}

std::size_t widest_line(std::string const& text) {
  auto widest = std::size_t{0};
  auto stream = std::istringstream{text};
  for (auto line = std::string{}; std::getline(stream, line);) widest = std::max(widest, display_width(line));
  return widest;
}

/// As full_step, but its first kernel takes 36 ms instead of 30, no one waits, and there is a norm and no offload.
timeline::Timeline measured_step() {
  auto builder = tests::TimelineBuilder{};
  builder.track("every", 0, 1);
  builder.scope("layer.0", program::Pass::kForward).add(WorkKind::kGemm, "up", 6_ms, 10_ms, 10_ms, 46_ms);
  builder.communicate(WorkKind::kAllGather, "next", 30_ms, 30_ms, 50_ms);
  builder.compute(WorkKind::kAttention, "core", {50_ms, 60_ms});
  builder.scope("layer.0", program::Pass::kBackward).communicate(WorkKind::kReduceScatter, "sum", 55_ms, 55_ms, 79_ms);
  builder.scope("").compute(WorkKind::kElementwise, "norm", {79_ms, 80_ms});
  builder.compute(WorkKind::kElementwise, "update", {80_ms, 95_ms});
  builder.host("read loss", {95_ms, 110_ms});
  builder.memory(0_ms, MemoryCategory::kParameters, 10_GiB).memory(0_ms, MemoryCategory::kOptimizer, 22_GiB);
  builder.manifest().scenario = "measured";
  builder.manifest().clock = timeline::Clock::kReal;
  return builder.timeline();
}

}  // namespace

TEST_CASE("a step is summarised on one screen", "[reports][golden]") {
  auto const text = summary_text(summarize(tests::full_step()));
  CHECK(text == golden("summary.txt"));
  CHECK(widest_line(text) <= 80);
}

TEST_CASE("a step of a model without sequences counts samples", "[reports]") {
  auto summary = summarize(tests::full_step());
  summary.counted = "samples";
  auto const screen = summary_text(summary);
  auto const table = scenarios_table({{"full", summary}, {"again", summary}});
  for (auto const& text : {screen, table}) CHECK(text.find("tokens") == std::string::npos);
  CHECK(screen.find("samples/s, ") != std::string::npos);
  CHECK(table.find("samples/s/GPU") != std::string::npos);
}

TEST_CASE("a step that does not fit says so on its screen", "[reports][golden]") {
  auto const text = summary_text(step_that_does_not_fit());
  CHECK(text.find("does not fit: needs 40.0 GiB at") != std::string::npos);
  CHECK(widest_line(text) <= 80);
}

TEST_CASE("what a rank needs of its host stands on the screen, and that what the host has is not known", "[reports]") {
  auto summary = summarize(tests::full_step());
  summary.host_peak = 30_GiB;
  hold_against_host(summary, {}, {});
  CHECK_THAT(summary_text(summary), Catch::Contains("30.0 GiB a rank; what the host has is not known"));
  hold_against_host(summary, 64_GiB, {});
  CHECK_THAT(summary_text(summary), Catch::Contains("30.0 GiB a rank of 64.0 GiB"));
}

TEST_CASE("a plan that cannot run says why on its screen", "[reports][golden]") {
  CHECK(summary_text(Infeasible{"toy", "48 layers do not divide into 5 stages", "use 4 or 6"}) ==
        "two-layer toy\n\n  cannot run  48 layers do not divide into 5 stages; use 4 or 6\n");
}

TEST_CASE("the JSON summary is the same text every time", "[reports][golden]") {
  CHECK(tests::summary_json(summarize(tests::full_step()), Seconds{0.25}) == golden("summary.json"));
}

TEST_CASE("scenarios stand side by side, with reasons for those that do not work", "[reports][golden]") {
  auto const text = scenarios_table({{"sharded", summarize(tests::full_step())},
                                     {"sharded on small GPUs", step_that_does_not_fit()},
                                     {"pipeline", Infeasible{"", "2 layers do not divide into 3 stages", "use 2"}}});
  CHECK(text == golden("scenarios.txt"));
  CHECK(widest_line(text) <= 80);
}

TEST_CASE("two timelines are compared on one screen", "[reports][golden]") {
  auto const text = page_text(pages::compare_page(compare(tests::full_step(), measured_step())), {});
  CHECK(text == golden("compare.txt"));
  CHECK(widest_line(text) <= 80);
}
