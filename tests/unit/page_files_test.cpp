#include "reports/render/page_files.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/pages.hpp"

using namespace twinstep;
using namespace twinstep::reports;
using tests::page_with;

namespace {

constexpr auto kCsvHeader = "section,chart,series,x,x_end,y,low,high,x_unit,y_unit,note\n";

}  // namespace

TEST_CASE("CSV has a line for each point, with all digits", "[reports][page_csv]") {
  auto const chart = Chart{.title = "Scaling",
                           .x = {.name = "GPUs"},
                           .y = {.name = "time", .unit = "ms"},
                           .series = {{.name = "predicted", .points = {{8, 1.0 / 3, 0.25, 0.5, "ring"}, {16, 1e-7}}}}};
  CHECK(page_csv(page_with({.title = "S", .charts = {chart}})) ==
        std::string{kCsvHeader} +
            "S,Scaling,predicted,8,,0.3333333333333333,0.25,0.5,,ms,ring\n"
            "S,Scaling,predicted,16,,1e-07,,,,ms,\n");
}

TEST_CASE("CSV names categories, and ends of spans", "[reports][page_csv]") {
  auto const chart =
      Chart{.title = "Step",
            .x = {.unit = "ms"},
            .y = {.categories = {"compute", "network"}},
            .series = {{.name = "gather", .style = SeriesStyle::kSpans, .points = {{1, 1}}, .x_ends = {2.5}}}};
  CHECK(page_csv(page_with({.title = "S", .charts = {chart}})) ==
        std::string{kCsvHeader} + "S,Step,gather,1,2.5,network,,,ms,,\n");
}

TEST_CASE("CSV has the cells of tables by row and column, quoted where they must be, each row on its line",
          "[reports][page_csv]") {
  auto const table = PageTable{.title = "T", .headers = {"name", "says"}, .rows = {{"a,b", "\"yes\"\x1b\nno"}}};
  CHECK(page_csv(page_with({.title = "S", .tables = {table}})) ==
        std::string{kCsvHeader} + "S,T,says,\"a,b\",,\"\"\"yes\"\"\\x1b\\x0ano\",,,,,\n");
}

TEST_CASE("Markdown has the tables, with numbers aligned at the right", "[reports][page_markdown]") {
  auto const table = PageTable{.title = "T", .headers = {"name", "time"}, .rows = {{"ddp", "5 ms"}, {"none"}}};
  CHECK(page_markdown(page_with({.title = "S", .text = "Says it.", .tables = {table}})) ==
        "# A page\n\n## S\n\nSays it.\n\n**T**\n\n| name | time |\n|---|---:|\n| ddp | 5 ms |\n| none |  |\n");
}

TEST_CASE("Markdown shows texts as they are", "[reports][page_markdown]") {
  auto page = page_with({.title = "a | b", .text = "- <b>*x*</b> [y](z) ` #1"});
  page.warnings = {"_w_"};
  CHECK(page_markdown(page) ==
        "# A page\n\n> **Warning:** \\_w\\_\n\n## a \\| b\n\n"
        "\\- \\<b\\>\\*x\\*\\</b\\> \\[y\\](z) \\` \\#1\n");
}

TEST_CASE("Markdown leaves names and commands as they are typed", "[reports][page_markdown]") {
  auto const page = page_with({.text = "Set training.micro_batch by `--set a_b=[1]`, not `a|b_`; __init__ a__b _"});
  CHECK(page_markdown(page) ==
        "# A page\n\nSet training.micro_batch by `--set a_b=[1]`, not \\`a\\|b\\_\\`; \\_\\_init\\_\\_ a\\_\\_b \\_\n");
}

TEST_CASE("no command ends the block that holds it", "[reports][page_markdown]") {
  auto const text = page_markdown({.title = "t", .commands = {"a ``` b", "c"}});
  CHECK(text == "# t\n\n## Make this page again\n\n````text\na ``` b\nc\n````\n");
}
