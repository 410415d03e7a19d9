#include "explore/sweep/export.hpp"
#include "reports/pages/pages.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::pages;
using namespace twinstep::explore;
using sweep::Cell;

namespace {

/// A point of three paths: nodes, strategy, NIC. Its speed in tokens a second and GPU, on eight GPUs a node, of 1000
/// tokens.
sweep::Row row(std::int64_t point, std::int64_t nodes, std::string strategy, std::string nic, double speed) {
  auto out = sweep::Row{.point = point, .settings = {nodes, std::move(strategy), std::move(nic)}};
  for (auto const& figure : sweep::kFigures) {
    using Kind = sweep::Column::Kind;
    if (figure.may_be_absent)
      out.figures.emplace_back();
    else if (figure.kind == Kind::kReal)
      out.figures.emplace_back(0.0);
    else if (figure.kind == Kind::kText || figure.kind == Kind::kJson)
      out.figures.emplace_back("{}");
    else
      out.figures.emplace_back(std::int64_t{0});
  }
  auto const set = [&](std::string_view figure, Cell cell) {
    out.figures[sweep::figure_index(figure)] = std::move(cell);
  };
  auto const gpus = 8.0 * static_cast<double>(nodes);
  set("scenario", std::string{"a scenario"});
  set("step_time_s", 1000 / speed / gpus);
  set("interval_low_s", 900 / speed / gpus);
  set("interval_high_s", 1200 / speed / gpus);
  set("counted", std::string{"tokens"});
  set("tokens_per_s", speed * gpus);
  set("tokens_per_s_per_gpu", speed);
  set("mfu", speed / 100);
  set("fits", std::int64_t{1});
  set("peak_memory_bytes", std::int64_t{1} << 30);
  set("calibration", std::string{"uncalibrated"});
  return out;
}

sweep::Results results() {
  auto out =
      sweep::Results{.manifest = {.version = "1.2.3", .paths = {"cluster.nodes", "strategy.name", "cluster.node.nic"}},
                     .is_finished = true};
  out.rows = {row(0, 1, "ddp", "100 Gb/s", 10), row(1, 1, "ddp", "400 Gb/s", 20), row(2, 2, "ddp", "100 Gb/s", 8),
              row(3, 1, "zero-3", "100 Gb/s", 12)};
  auto failed = row(4, 2, "zero-3", "100 Gb/s", 99);
  failed.status = sweep::Status::kDoesNotFit;
  failed.reason = "too much";
  out.rows.push_back(std::move(failed));
  return out;
}

reports::Chart const& chart(reports::Page const& page, std::string_view id) {
  for (auto const& section : page.sections)
    for (auto const& each : section.charts)
      if (each.id == id) return each;
  FAIL("no chart called " << id);
  return page.sections.front().charts.front();
}

}  // namespace

TEST_CASE("a sweep has a chart over each number, a line for each word, and the best of what else differs",
          "[report][sweep]") {
  auto const page = sweep_page(results());
  auto const& speed = chart(page, "sweep-0-tokens_per_s");
  CHECK(speed.x.name == "cluster.nodes");
  REQUIRE(speed.series.size() == 2);
  CHECK(speed.series[0].name == "ddp");
  REQUIRE(speed.series[0].points.size() == 2);
  CHECK(speed.series[0].points[0].y == Approx(20 * 8));  // by the faster NIC
  CHECK_THAT(speed.series[0].points[0].note, Catch::Contains("cluster.node.nic=400 Gb/s"));
  CHECK(speed.series[0].points[1].y == Approx(8 * 16));
  CHECK(speed.series[1].points.size() == 1);  // what does not fit is not shown

  auto const& time = chart(page, "sweep-2-step_time_s");
  CHECK(time.x.unit == "Gb/s");
  auto const& point = time.series[0].points.back();
  CHECK(point.x == 400);
  CHECK(point.y == Approx(1e6 / 20 / 8));  // ms
  CHECK(point.y_low == Approx(0.9 * point.y));
  CHECK(point.y_high == Approx(1.2 * point.y));
}

TEST_CASE("numbers that change together have one axis, which names the others", "[report][sweep]") {
  auto sweep = sweep::Results{.manifest = {.version = "1.2.3", .paths = {"cluster.nodes", "training.global_batch"}},
                              .is_finished = true};
  for (std::int64_t nodes = 1; nodes <= 4; nodes *= 2) {
    auto point = row(nodes, nodes, "", "", 10);
    point.settings = {nodes, 8 * nodes};
    sweep.rows.push_back(std::move(point));
  }
  auto const page = sweep_page(sweep);
  REQUIRE(page.sections.size() == 2);  // the best points, and one axis
  CHECK(page.sections[1].title == "Against cluster.nodes");
  CHECK_THAT(page.sections[1].text, Catch::Contains("With it change training.global_batch."));
}

TEST_CASE("the best points of a sweep stand first in its table, and all are counted", "[report][sweep]") {
  auto const page = sweep_page(results());
  auto const& rows = page.sections.front().tables.front().rows;
  REQUIRE(rows.size() == 4);
  CHECK(rows[0][0] == "1");  // its number in the results
  CHECK(rows[0][3] == "400 Gb/s");
  CHECK(rows[1][2] == "zero-3");
  CHECK(page.text == "5 points, 4 ok, 1 does not fit.");
  CHECK(page.title == "A sweep of cluster.nodes, strategy.name and cluster.node.nic");
  auto none = sweep::Results{.manifest = {.paths = {"cluster.nodes"}, .points = 7}, .is_finished = true};
  CHECK(sweep_page(none).text == "0 points, 7 left out by constraints.");
}

TEST_CASE("a sweep without an answer says why, each reason once and counted", "[report][sweep]") {
  auto sweep = results();
  sweep.rows.resize(3);
  auto const set = [&](std::size_t i, sweep::Status status, std::string reason) {
    sweep.rows[i].status = status;
    sweep.rows[i].reason = std::move(reason);
  };
  set(0, sweep::Status::kInfeasible, "17 does not divide");
  set(1, sweep::Status::kDoesNotFit, "needs 81.5 GiB, has 79.1 GiB");
  set(2, sweep::Status::kDoesNotFit, "needs 120 GiB, has 79.1 GiB");
  auto const page = sweep_page(sweep);
  REQUIRE(page.sections.size() == 1);
  CHECK(page.sections.front().title == "Points without an answer");
  CHECK(page.sections.front().tables.front().rows ==
        std::vector<std::vector<std::string>>{{"1", "2", "does not fit", "needs 81.5 GiB, has 79.1 GiB"},
                                              {"0", "1", "infeasible", "17 does not divide"}});
}

TEST_CASE("a sweep of models without sequences has samples on its page", "[report][sweep]") {
  auto samples = results();
  for (auto& each : samples.rows) each.figures[sweep::figure_index("counted")] = std::string{"samples"};
  auto const page = sweep_page(samples);
  CHECK(chart(page, "sweep-0-tokens_per_s").y.unit == "samples/s");
  CHECK(page.sections.front().tables.front().title == "Best by samples/s and GPU");
}

TEST_CASE("an exported sweep has the page of its results file", "[report][sweep]") {
  auto expected = results();
  auto text = std::string{};
  for (auto const& each : expected.rows) text += sweep::json_line(each, expected.manifest.paths);
  REQUIRE(is_sweep_lines(text));
  auto read = read_sweep_lines({"results.jsonl", text});
  read.manifest.version = expected.manifest.version;
  CHECK(sweep_page(read).sections == sweep_page(expected).sections);
}

TEST_CASE("a broken line of an exported sweep is named", "[report][sweep]") {
  auto const text = std::string{R"({"point": 0, "settings": {}, "status": "good"})"};
  CHECK_THROWS_WITH(read_sweep_lines({"results.jsonl", text}), Catch::Contains("results.jsonl:1"));
}
