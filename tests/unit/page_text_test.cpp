#include "reports/render/page_text.hpp"

#include <algorithm>
#include <sstream>

#include "reports/render/chart_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/web/every_chart.hpp"

using namespace twinstep;
using namespace twinstep::reports;

namespace {

std::vector<std::string> lines(std::string const& text) {
  auto out = std::vector<std::string>{};
  auto stream = std::istringstream{text};
  for (auto line = std::string{}; std::getline(stream, line);) out.push_back(line);
  return out;
}

Chart bars(bool is_stacked, std::vector<double> const& first, std::vector<double> const& second) {
  auto chart = Chart{.x = {.categories = {"a", "b"}}, .y = {.unit = "ms"}, .is_stacked = is_stacked};
  for (auto const& values : {first, second}) {
    auto series = Series{.name = "s" + std::to_string(chart.series.size()), .style = SeriesStyle::kBars};
    for (std::size_t i = 0; i < values.size(); ++i) series.points.push_back({static_cast<double>(i), values[i]});
    chart.series.push_back(series);
  }
  return chart;
}

}  // namespace

TEST_CASE("bars are as long as their values", "[reports][page_text]") {
  // 40 columns: 1 for the name, 16 for values, 2 between: 21 cells, 0 in the first and 4 ms in the last. A bar fills
  // the cells before the one of its value: 20 for 4 ms, 10 for 2 ms, 5 for 1 ms.
  auto const text = lines(chart_text(bars(false, {4, 2}, {1, 4}), {.width = 40}));
  REQUIRE(text.size() == 5);
  CHECK(text[0] == "a ████████████████████  4 ms");
  CHECK(text[1] == "  ▒▒▒▒▒                 1 ms");
  CHECK(text[2] == "b ██████████            2 ms");
  CHECK(text[4] == "█ s0   ▒ s1");
}

TEST_CASE("stacked bars begin where the last one ended, with their sum beside them", "[reports][page_text]") {
  // 5 ms in 20 cells: 4 cells for each ms.
  auto const text = lines(chart_text(bars(true, {4, 2}, {1, 2}), {.width = 40}));
  CHECK(text[0] == "a ████████████████▒▒▒▒  5 ms");
  CHECK(text[1] == "b ████████▒▒▒▒▒▒▒▒      4 ms");
}

TEST_CASE("bars below nothing go to the left, and each value is said", "[reports][page_text]") {
  // From -2 to 2 ms in 20 cells: 5 cells for each ms, nothing is at the eleventh.
  auto const text = lines(chart_text(bars(true, {2, 1}, {-2, -1}), {.width = 40}));
  CHECK(text[0] == "a ▒▒▒▒▒▒▒▒▒▒██████████  2, -2 ms");
  CHECK(text[1] == "b      ▒▒▒▒▒█████       1, -1 ms");
}

TEST_CASE("a timeline has a row for each stream", "[reports][page_text]") {
  // 31 columns: "net" and a space leave 27 cells: 13 ms in 26 steps, two cells each.
  auto const chart =
      Chart{.x = {.name = "time", .unit = "ms"},
            .y = {.categories = {"gpu", "net"}},
            .series = {{.name = "k", .style = SeriesStyle::kSpans, .points = {{0, 0}, {8, 0}}, .x_ends = {5, 13}},
                       {.name = "c", .style = SeriesStyle::kSpans, .points = {{5, 1}}, .x_ends = {8}}}};
  auto const text = lines(chart_text(chart, {.width = 31}));
  REQUIRE(text.size() == 4);
  CHECK(text[0] == "gpu ██████████      ██████████");
  CHECK(text[1] == "net           ▒▒▒▒▒▒");
  CHECK(text[2] == "    0 ms       time       13 ms");
}

TEST_CASE("a cell of a timeline shows what has most of it", "[reports][page_text]") {
  // A hundred milliseconds, nine tenths of each of one kind and the last tenth of another, in 27 cells.
  auto long_spans = Series{.name = "long", .style = SeriesStyle::kSpans};
  auto short_spans = Series{.name = "short", .style = SeriesStyle::kSpans};
  for (auto i = 0; i < 100; ++i) {
    long_spans.points.push_back({i + 0.0, 0});
    long_spans.x_ends.push_back(i + 0.9);
    short_spans.points.push_back({i + 0.9, 0});
    short_spans.x_ends.push_back(i + 1.0);
  }
  auto const chart = Chart{.x = {.name = "time", .unit = "ms"},
                           .y = {.categories = {"gpu"}},
                           .series = {std::move(long_spans), std::move(short_spans)}};
  auto const row = lines(chart_text(chart, {.width = 31})).front();
  CHECK_THAT(row, !Catch::Contains("▒"));
  CHECK_THAT(row, Catch::Contains("█████"));
}

TEST_CASE("points of a line are at their places, on logarithmic axes too", "[reports][page_text]") {
  // 1 to 100 and 1 to 100 in decades: 10 is in the middle of both.
  auto const chart = Chart{.x = {.is_logarithmic = true},
                           .y = {.is_logarithmic = true},
                           .series = {{.name = "l", .points = {{1, 1}, {10, 10}, {100, 100}, {0, 5}}}}};
  // "100 │" takes 5 columns of 30: 25 cells; the middle is the thirteenth, and between rows 5 and 6 of 0 to 11.
  auto const text = lines(chart_text(chart, {.width = 30}));
  REQUIRE(text.size() == 13);
  CHECK(text[0].ends_with("●"));
  CHECK(text[0].starts_with("100 │"));
  CHECK(display_width(text[5].substr(0, text[5].find("●"))) == 5 + 12);
  CHECK(text[11].starts_with("  1 │●"));
}

TEST_CASE("steps upon each other are areas that hold their values", "[reports][page_text]") {
  // 6 over the first half, 12 over the second, in 12 rows: the upper six are empty at first.
  auto const chart = Chart{.is_stacked = true,
                           .series = {{.name = "below", .style = SeriesStyle::kSteps, .points = {{0, 6}, {10, 6}}},
                                      {.name = "above", .style = SeriesStyle::kSteps, .points = {{5, 6}}}}};
  auto const text = lines(chart_text(chart, {.width = 25}));  // "12 │" leaves 21 cells: 5 is in the eleventh
  CHECK(text[0] == "12 │          ▒▒▒▒▒▒▒▒▒▒▒");
  CHECK(text[5] == "   │          ▒▒▒▒▒▒▒▒▒▒▒");
  CHECK(text[6] == "   │█████████████████████");
}

TEST_CASE("a chart without points says so", "[reports][page_text]") {
  CHECK(chart_text({}, {}) == "no data\n");
  CHECK(chart_text({.y = {.is_logarithmic = true}, .series = {{.points = {{1, -1}}}}}, {}) == "no data\n");
}

TEST_CASE("charts keep to the width that they are given", "[reports][page_text]") {
  auto const page = every_chart();
  for (auto const& section : page.sections)
    for (auto const& chart : section.charts)
      for (auto const width : std::vector<std::size_t>{60, 80, 120})
        for (auto const& line : lines(chart_text(chart, {.width = width}))) {
          INFO(chart.title << "\n" << line);
          CHECK(display_width(line) <= width);
        }
}

TEST_CASE("a page keeps to its width, whatever it rests on", "[reports][page_text]") {
  // The digits of a SHA-256, and names that take most of a line.
  auto const hash = std::string(64, 'f');
  auto const page =
      Page{.title = "t",
           .facts = {{"[1] input", "small.json, SHA-256 " + hash},
                     {"[1] calibration of zero-3 + recompute, micro-batch 2", "uncalibrated, SHA-256 " + hash},
                     {"[1] version", "1"}}};
  auto const text = lines(page_text(page, {}));
  for (auto const& line : text) {
    INFO(line);
    CHECK(display_width(line) <= 80);
  }
  CHECK(std::ranges::count(text, "  [1] version  1") == 1);
  CHECK(std::ranges::count(text, "  [1] calibration of zero-3 + recompute, micro-batch 2") == 1);
}

TEST_CASE("columns that a line has no room for follow below, each time behind the names of their rows",
          "[reports][page_text]") {
  // Two columns of 10 and their gaps fit beside "point" in 30: 5 + 12 + 12 = 29.
  auto const page = Page{.title = "t",
                         .sections = {{.tables = {{.headers = {"point", "first-path", "other-path", "third-path"},
                                                   .rows = {{"1", "a", "b", "c"}}}}}}};
  CHECK(page_text(page, {.width = 30}) ==
        "t\n"
        "point  first-path  other-path\n"
        "-----  ----------  ----------\n"
        "1      a           b\n"
        "\n"
        "point  third-path\n"
        "-----  ----------\n"
        "1      c\n");
}

TEST_CASE("rows that their first cells do not tell apart are numbered where they go on below", "[reports][page_text]") {
  // "a reason of …" is longer than a line of 20.
  auto const reason = std::string{"a reason of 21 signs."};
  auto const page = Page{.title = "t",
                         .sections = {{.tables = {{.headers = {"cluster", "why", "GPUs"},
                                                   .rows = {{"x", reason, "8"}, {"x", "none", "16"}}}}}}};
  CHECK(page_text(page, {.width = 20}) ==
        "t\n"
        "#  cluster  GPUs\n"
        "-  -------  ----\n"
        "1  x           8\n"
        "2  x          16\n"
        "  1: why: a reason\n"
        "  of 21 signs.\n"
        "  2: why: none\n");
}

TEST_CASE("texts do not speak to the terminal", "[reports][page_text]") {
  auto const text = page_text({.title = "a\x1b[31mb", .commands = {"c\nd"}}, {});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("a\\x1b[31mb") != std::string::npos);
  CHECK(text.find("  c\\x0ad\n") != std::string::npos);
}

TEST_CASE("a command stays on one line, to be copied", "[reports][page_text]") {
  auto const command = std::string(200, 'c') + " " + std::string(200, 'd');
  CHECK(page_text({.title = "t", .commands = {command}}, {}).find("\n  " + command + "\n") != std::string::npos);
}

TEST_CASE("a section has its tables, notes that stand for themselves, and code as it is", "[reports][page_text]") {
  auto section = Section{.title = "S"};
  section.tables = {{.headers = {"a"}, .rows = {{"1"}}}, {.headers = {"hidden"}, .rows = {{"2"}}, .fold = "all of it"}};
  section.notes = {"first note", "second"};
  section.code = {"twinstep simulate x.json \\", "  --set 'a=1'"};
  auto const text = page_text({.title = "P", .sections = {section}}, {.width = 10});
  CHECK(text == "P\n\nS\na\n-\n1\n- first\n  note\n- second\n  twinstep simulate x.json \\\n    --set 'a=1'\n");
}

TEST_CASE("a section of which all is folded away is left out", "[reports][page_text]") {
  auto const section = Section{.title = "S", .tables = {{.headers = {"a"}, .rows = {{"1"}}, .fold = "all of it"}}};
  CHECK(page_text({.title = "P", .sections = {section}}, {}) == "P\n");
}

TEST_CASE("without charts a section of nothing else is left out", "[reports][page_text]") {
  auto drawn = Section{.title = "drawn", .charts = {bars(false, {4, 2}, {1, 4})}};
  auto both = drawn;
  both.title = "both";
  both.tables = {{.headers = {"a"}, .rows = {{"1"}}}};
  auto const text = page_text({.title = "P", .sections = {drawn, both}}, {}, Charts::kLeftOut);
  CHECK(text == "P\n\nboth\na\n-\n1\n");
}
