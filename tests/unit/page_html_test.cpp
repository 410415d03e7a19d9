
#include <algorithm>

#include "reports/render/page_files.hpp"
#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pages.hpp"
#include "tests/web/every_chart.hpp"

using namespace twinstep;
using namespace twinstep::reports;
using tests::page_with;

namespace {

std::size_t count(std::string_view text, std::string_view part) {
  auto found = std::size_t{0};
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Between the first `begin` and the next `end` after it.
std::string between(std::string const& text, std::string_view begin, std::string_view end) {
  auto const first = text.find(begin);
  REQUIRE(first != std::string::npos);
  auto const from = first + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

}  // namespace

TEST_CASE("texts stand in the HTML as text", "[reports][page_html]") {
  auto const html = page_html({.title = "<b>\"1\" & '2'</b>", .warnings = {"</script>"}});
  CHECK(count(html, "<h1>&lt;b&gt;&quot;1&quot; &amp; &#39;2&#39;&lt;/b&gt;</h1>") == 1);
  CHECK(count(html, "<li>&lt;/script&gt;</li>") == 1);
}

TEST_CASE("control characters are escaped in the HTML and in Markdown, as in text", "[reports][page_html]") {
  auto const page = Page{.title = "a\x1b[31m", .commands = {"b\x07", "c"}};
  CHECK(count(page_html(page), "<h1>a\\x1b[31m</h1>") == 1);
  CHECK(count(page_html(page), "<pre class=\"commands\">b\\x07\nc</pre>") == 1);
  CHECK(page_markdown(page) == "# a\\\\x1b\\[31m\n\n## Make this page again\n\n```text\nb\\x07\nc\n```\n");
}

TEST_CASE("code in a text is marked as code", "[reports][page_html]") {
  auto const html = page_html({.title = "t", .text = "Ask `simulate <F>`, not ` or ``."});
  CHECK(count(html, "<p class=\"lead\">Ask <code>simulate &lt;F&gt;</code>, not <code> or </code>`.</p>") == 1);
  CHECK(count(page_html({.title = "t", .text = "a ` b"}), "<p class=\"lead\">a ` b</p>") == 1);
  CHECK(count(page_html({.title = "`t`"}), "<h1>`t`</h1>") == 1);
}

TEST_CASE("what a text says in the template's own words is not filled in", "[reports][page_html]") {
  auto const html = page_html({.title = "{{body}} {{echarts}}"});
  CHECK(count(html, "<h1>{{body}} {{echarts}}</h1>") == 1);
}

TEST_CASE("the page holds its own JSON, and no text of it ends the element", "[reports][page_html]") {
  auto const page = every_chart();
  auto const held = between(page_html(page), "<script type=\"application/json\" id=\"page\">", "</script>");
  CHECK(count(held, "<") == 0);
  auto const read = io::parse({"page", held});
  CHECK(read.at("title").string() == page.title);
  CHECK(read.at("sections").elements().size() == page.sections.size());
}

TEST_CASE("the page loads nothing from elsewhere", "[reports][page_html]") {
  auto const html = page_html(page_with({.title = "Empty"}));
  CHECK(count(html, "default-src 'none'") == 1);
  for (auto const* const loads : {"<script src", "<link", "@import", "<iframe"}) CHECK(count(html, loads) == 0);
}

TEST_CASE("a chart is text until a script draws it, and says what it shows to whoever cannot see it",
          "[reports][page_html]") {
  auto const chart = Chart{.id = "bars",
                           .title = "Bars",
                           .text = "the first is longer",
                           .x = {.categories = {"long", "short"}},
                           .series = {{.name = "s", .style = SeriesStyle::kBars, .points = {{0, 2}, {1, 1}}}}};
  auto const html = page_html(page_with({.title = "Charts", .charts = {chart}}));
  CHECK(count(html, "<figure id=\"bars\">") == 1);
  CHECK(count(html, "role=\"img\" aria-label=\"Bars: the first is longer\"><pre>long  █") == 1);
}

TEST_CASE("columns of numbers are aligned at the right, and sentences are broken", "[reports][page_html]") {
  auto const table = PageTable{.title = "",
                               .headers = {"name", "time", "fits", "why"},
                               .rows = {{"1", "5 ms", "no", std::string(48, 'w')}, {"2", "–", "yes", ""}}};
  auto const html = page_html(page_with({.title = "", .tables = {table}}));
  CHECK(count(html, "<tr><td>1</td><td class=\"number\">5 ms</td><td>no</td><td class=\"prose\">www") == 1);
  CHECK(count(html, "<tr><td>2</td><td class=\"number\">–</td><td>yes</td>") == 1);
}

TEST_CASE("contents are listed where there are enough sections to look for one", "[reports][page_html]") {
  auto page = Page{.title = "A page", .sections = {{.title = "One"}, {.title = "Two"}}};
  CHECK(count(page_html(page), "<nav") == 0);
  page.sections.push_back({.title = "Three"});
  CHECK(count(page_html(page), "<a href=\"#section-3\">Three</a>") == 1);
}

TEST_CASE("the page's JSON leaves out what is empty, false or absent", "[reports][page_json]") {
  auto const page = Page{.title = "t",
                         .sections = {{.title = "s",
                                       .tables = {{.headers = {"h"}, .rows = {{""}}}},
                                       .charts = {{.id = "c", .series = {{.points = {{.x = 1, .y = 2}}}}}}}}};
  auto const text = page_json(page);
  for (auto const* const absent : {"null", "false", "[]", "note", "y_low", "text", "fold", "unit", "warnings"})
    CHECK_THAT(text, !Catch::Contains(absent));
  CHECK_THAT(text, Catch::Contains(R"([{"x": 1, "y": 2}])"));
  CHECK_THAT(text, Catch::Contains(R"("rows": [[""]])"));
}

TEST_CASE("charts of one fold stand together in what opens, and all figures in their order", "[reports][page_html]") {
  auto const chart = [](std::string id, std::string fold) {
    return Chart{.id = std::move(id), .fold = std::move(fold)};
  };
  auto const html =
      page_html({.title = "t",
                 .sections = {{.title = "s", .charts = {chart("a", ""), chart("b", "<more>"), chart("c", "<more>")}}}});
  auto const opened = html.find("<details class=\"fold\"><summary>&lt;more&gt;</summary>");
  REQUIRE(opened != std::string::npos);
  CHECK(html.find("<figure id=\"a\">") < opened);
  CHECK(opened < html.find("<figure id=\"b\">"));
  CHECK(html.find("class=\"fold\"", opened + 30) == std::string::npos);
  CHECK(html.find("<figure id=\"c\">") != std::string::npos);
}

TEST_CASE("the same page gives the same HTML", "[reports][page_html]") {
  CHECK(page_html(every_chart()) == page_html(every_chart()));
}
