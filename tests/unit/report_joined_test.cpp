#include "reports/pages/axes.hpp"
#include "reports/pages/pages.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::pages;
using namespace twinstep::reports;

namespace {

/// A line over GPUs in milliseconds, of one result.
Chart line(std::string unit, double y) {
  return {.id = "speed",
          .title = "Speed",
          .x = {.name = "GPUs"},
          .y = {.name = "step time", .unit = std::move(unit)},
          .series = {{.name = "ddp", .points = {{.x = 8, .y = y, .y_low = y / 2, .y_high = y * 2}}}},
          .x_marks = {{.at = 8, .text = "knee"}, {.at = 1, .end = 8, .text = "ring"}}};
}

Chart bars(std::string name, double y) {
  return {.id = "answer",
          .title = "Step time",
          .x = {.categories = {std::move(name)}},
          .y = {.name = "step time", .unit = "ms"},
          .series = {{.name = "step time", .style = SeriesStyle::kBars, .points = {{.x = 0, .y = y}}}}};
}

Page page(std::string title, std::vector<Section> sections) {
  return {.title = std::move(title), .sections = std::move(sections)};
}

}  // namespace

TEST_CASE("lines of several results stand in one chart, in one unit", "[report][joined]") {
  auto const all = joined({page("one", {{.title = "Scaling", .charts = {line("ms", 20)}}}),
                           page("two", {{.title = "Scaling", .charts = {line("s", 0.03)}}})});
  REQUIRE(all.sections.size() == 1);
  CHECK(all.sections[0].title == "Scaling");
  REQUIRE(all.sections[0].charts.size() == 1);
  auto const& chart = all.sections[0].charts[0];
  CHECK(chart.y.unit == "ms");
  REQUIRE(chart.series.size() == 2);
  CHECK(chart.series[0].name == "[1] ddp");
  CHECK(chart.series[1].name == "[2] ddp");
  CHECK(chart.series[1].points[0].y == Approx(30));
  CHECK(*chart.series[1].points[0].y_low == Approx(15));
  CHECK(*chart.series[1].points[0].y_high == Approx(60));
  // Regions are of one result's algorithms; two results' would lie upon each other.
  REQUIRE(chart.x_marks.size() == 2);
  CHECK(chart.x_marks[1].text == "[2] knee");
}

TEST_CASE("bars of several results stand beside each other", "[report][joined]") {
  auto const all = joined({page("one", {{.title = "The answer", .charts = {bars("ddp", 20)}}}),
                           page("two", {{.title = "The answer", .charts = {bars("zero-3", 30)}}})});
  auto const& chart = all.sections.at(0).charts.at(0);
  CHECK(chart.x.categories == std::vector<std::string>{"[1] ddp", "[2] zero-3"});
  REQUIRE(chart.series.size() == 1);
  CHECK(chart.series[0].points[1].x == 1);
  CHECK(chart.series[0].points[1].y == 30);
}

TEST_CASE("numbers of different kinds never stand on one axis", "[report][joined]") {
  auto const all = joined({page("one", {{.title = "Cost", .charts = {line("USD", 20)}}}),
                           page("two", {{.title = "Cost", .charts = {line("GPU-hours", 30)}}})});
  auto const& charts = all.sections.at(0).charts;
  REQUIRE(charts.size() == 2);
  CHECK(charts[0].id != charts[1].id);
}

TEST_CASE("timelines of several results stand one after another", "[report][joined]") {
  auto spans = Chart{.id = "streams", .title = "ddp", .series = {{.style = SeriesStyle::kSpans}}};
  auto const all = joined(
      {page("one", {{.title = "Streams", .charts = {spans}}}), page("two", {{.title = "Streams", .charts = {spans}}})});
  auto const& charts = all.sections.at(0).charts;
  REQUIRE(charts.size() == 2);
  CHECK(charts[1].title == "[2] ddp");
  CHECK(charts[0].id != charts[1].id);
}

TEST_CASE("tables with the same columns are one table, whose rows say of which result they are", "[report][joined]") {
  auto const table = [](std::string name) {
    return PageTable{.title = "Best", .headers = {"strategy", "time"}, .rows = {{std::move(name), "1 s"}}};
  };
  auto const all = joined({page("one", {{.title = "The answer", .tables = {table("ddp")}}}),
                           page("two", {{.title = "The answer", .tables = {table("zero-3")}}})});
  REQUIRE(all.sections.at(0).tables.size() == 1);
  CHECK(all.sections[0].tables[0].rows ==
        std::vector<std::vector<std::string>>{{"[1] ddp", "1 s"}, {"[2] zero-3", "1 s"}});
}

TEST_CASE("what all results say is said once, else each behind its number", "[report][joined]") {
  auto const says = [](std::string section, std::string of_chart) {
    auto chart = line("ms", 20);
    chart.text = std::move(of_chart);
    return page("one", {{.title = "Scaling", .text = std::move(section), .charts = {chart}}});
  };
  auto const all = joined({says("as ever", "a"), says("as ever", "b"), says("as ever", "")});
  CHECK(all.sections.at(0).text == "as ever");
  CHECK(all.sections[0].charts.at(0).text == "[1] a [2] b");
  auto const some = joined({says("first", "as ever"), says("", "as ever")});
  CHECK(some.sections.at(0).text == "[1] first");
  CHECK(some.sections[0].charts.at(0).text == "as ever");
}

TEST_CASE("what only one result has keeps the number of its page", "[report][joined]") {
  auto const all = joined({page("one", {{.title = "Scaling"}}), page("two", {{.title = "Errors"}})});
  REQUIRE(all.sections.size() == 2);
  CHECK(all.sections[0].title == "[1] Scaling");
  CHECK(all.sections[1].title == "[2] Errors");
  CHECK(all.text == "[1] one. [2] two.");
}

TEST_CASE("axes of time take the unit that their largest number needs", "[report][units]") {
  auto const fitted = [](std::string unit, double y, double x_end) {
    auto chart = Chart{.x = {.unit = "s"},
                       .y = {.unit = std::move(unit)},
                       .series = {{.points = {{.x = 0, .y = y / 2, .y_high = y}}, .x_ends = {x_end}}},
                       .y_marks = {{.at = y}}};
    fit_time_units(chart);
    return chart;
  };
  auto const slow = fitted("ms", 59'374, 2e-5);  // 59 s against 20 us
  CHECK(slow.y.unit == "s");
  CHECK(*slow.series[0].points[0].y_high == Approx(59.374));
  CHECK(slow.y_marks[0].at == Approx(59.374));
  CHECK(slow.x.unit == "us");
  CHECK(slow.series[0].x_ends[0] == Approx(20));
  CHECK(fitted("us", 1000, 1).y.unit == "ms");
  CHECK(fitted("us", 1e-3, 1).y.unit == "us");  // there is none below
  CHECK(fitted("days", 0.25, 1).y.unit == "hours");
  CHECK(fitted("hours", 48, 1).series[0].points[0].y == Approx(1));
  CHECK(fitted("GB/s", 1e9, 1).y.unit == "GB/s");
}

TEST_CASE("stacked times take the unit of their sums", "[report][units]") {
  auto const part = Series{.style = SeriesStyle::kBars, .points = {{.x = 0, .y = 600}}};
  auto chart = Chart{.y = {.unit = "ms"}, .is_stacked = true, .series = {part, part}};
  fit_time_units(chart);
  CHECK(chart.y.unit == "s");
  CHECK(chart.series[1].points[0].y == Approx(0.6));
}
