#include "reports/table.hpp"

#include "reports/quantity_text.hpp"
#include "sim/base/check.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::reports;

TEST_CASE("times have four digits and the unit that suits them", "[reports][text]") {
  CHECK(time_text(0_ps) == "0 s");
  CHECK(time_text(999_ps) == "999 ps");
  CHECK(time_text(850_ns) == "850.0 ns");
  CHECK(time_text(Duration{691'500'000}) == "691.5 us");
  CHECK(time_text(Duration{12'410'000'000}) == "12.41 ms");
  CHECK(time_text(1234_ms) == "1.234 s");
  CHECK(time_text(1'234'567_ms) == "1,235 s");
}

TEST_CASE("a time that rounds to a thousand takes the next unit", "[reports][text]") {
  // 999.96 us has four digits as 1.000 ms; 9.9996 us as 10.00 us.
  CHECK(time_text(Duration{999'960'000}) == "1.000 ms");
  CHECK(time_text(Duration{999'940'000}) == "999.9 us");
  CHECK(time_text(Duration{9'999'600}) == "10.00 us");
}

TEST_CASE("memory is binary, traffic decimal", "[reports][text]") {
  CHECK(memory_text(100_B) == "100 B");
  CHECK(memory_text(512_MiB) == "512.0 MiB");
  CHECK(memory_text(80_GiB) == "80.0 GiB");
  // 80e9 / 2^30 = 74.506.
  CHECK(memory_text(80_GB) == "74.5 GiB");
  CHECK(memory_text(Bytes{-1} * (2_GiB).count()) == "-2.0 GiB");
  CHECK(traffic_text(80_GB) == "80.0 GB");
  CHECK(rate_text(450_GBps) == "450.0 GB/s");
  CHECK(rate_text(412_TFLOPS) == "412.0 TFLOP/s");
}

TEST_CASE("memory that rounds to the next unit is printed in it", "[reports][text]") {
  // 1023.96 MiB to one decimal is 1024.0 MiB, which is 1.0 GiB.
  CHECK(memory_text(Bytes{static_cast<std::int64_t>(1023.96 * 0x1p20)}) == "1.0 GiB");
  CHECK(memory_unit_for(3_GiB).name == "GiB");
  CHECK(in_unit(1536_MiB, memory_unit_for(3_GiB)) == "1.5");
}

TEST_CASE("shares and counts", "[reports][text]") {
  CHECK(percent_text(0.4834) == "48.3 %");
  CHECK(percent_text(std::optional<double>{}) == "–");
  CHECK(count_text(12'345.4) == "12,345");
  CHECK(count_text(1'234'567) == "1,234,567");
  CHECK(count_text(999) == "999");
  CHECK(count_text(12.34) == "12.3");
  CHECK(whole_text(8) == "8");
  CHECK(whole_text(12'345) == "12,345");
}

TEST_CASE("changes have a sign, but for those that round to none", "[reports][text]") {
  CHECK(change_text(0.012) == "+1.2 %");
  CHECK(change_text(-0.123) == "-12.3 %");
  CHECK(change_text(0.0004) == "0.0 %");
  CHECK(change_text(-0.0004) == "0.0 %");
}

TEST_CASE("a bar is as long as its share, and never empty for more than nothing", "[reports][text]") {
  CHECK(bar_text(0.5, 4) == "██");
  CHECK(bar_text(1, 4) == "████");
  // 0.3 of 4 cells is 9.6, so 10, eighths: one cell and a quarter.
  CHECK(bar_text(0.3, 4) == "█▎");
  CHECK(bar_text(1e-9, 4) == "▏");
  CHECK(bar_text(0, 4).empty());
}

TEST_CASE("columns align by what readers see, not by bytes", "[reports][table]") {
  auto table = Table{{{"name", Align::kLeft}, {"value"}}};
  table.add_row({{"µ"}, {"1.5"}});
  table.add_row({{"plain"}, {"–"}});
  CHECK(table.render({}) ==
        "name   value\n"
        "-----  -----\n"
        "µ        1.5\n"
        "plain      –\n");
}

TEST_CASE("in a column that has to shrink texts go on below, so that their ends tell rows apart", "[reports][table]") {
  // 17 + 2 + 6 columns into 20 leave 12 for the name.
  auto table = Table{{{"name", Align::kLeft, true}, {"value"}}};
  table.add_row({{"zero-3 + bucket 1"}, {"123456"}});
  table.add_row({{"zero-3 + bucket 2"}, {"7"}});
  CHECK(table.render({.width = 20}) ==
        "name           value\n"
        "------------  ------\n"
        "zero-3 +      123456\n"
        "bucket 1\n"
        "zero-3 +           7\n"
        "bucket 2\n");
}

TEST_CASE("a table that is too wide cuts the words of columns that may shrink", "[reports][table]") {
  // 12 + 2 + 6 columns into 18 leave 10 for the name.
  auto table = Table{{{"name", Align::kLeft, true}, {"value"}}};
  table.add_row({{"abcdefghijkl"}, {"123456"}});
  CHECK(table.render({.width = 18}) ==
        "name         value\n"
        "----------  ------\n"
        "abcdefghi…  123456\n");
}

TEST_CASE("headers are broken before any text is cut", "[reports][table]") {
  // 12 + 2 + 8 columns: broken at its space, the header takes 6 of them, as its widest cell does.
  auto table = Table{{{"global batch"}, {"strategy", Align::kLeft, true}}};
  table.add_row({{"131072"}, {"zero-3"}});
  CHECK(table.render({.width = 16}) ==
        "global  strategy\n"
        " batch\n"
        "------  --------\n"
        "131072  zero-3\n");
}

TEST_CASE("paths in headers are broken behind their dots", "[reports][table]") {
  // 9 + 2 + 8: each path in two lines.
  auto table = Table{{{"training.batch", Align::kLeft, true}, {"cluster.gpu"}}};
  table.add_row({{"1"}, {"2"}});
  CHECK(table.render({.width = 19}) ==
        "training.  cluster.\n"
        "batch           gpu\n"
        "---------  --------\n"
        "1                 2\n");
}

TEST_CASE("a table is read with ease where texts have three lines at most", "[reports][table]") {
  // 8 of a number, which is not broken, 2 between, and a third of 89.
  auto table = Table{{{"number"}, {"text", Align::kLeft, true}}};
  auto text = std::string{"nineteen"};
  for (auto i = 0; i < 9; ++i) text += " eighteen";
  table.add_row({{"12345678"}, {text}});
  CHECK(display_width(text) == 89);
  CHECK(table.readable_width() == 8 + 2 + 29);
}

TEST_CASE("columns that may not shrink are never cut", "[reports][table]") {
  auto table = Table{{{"name", Align::kLeft, true}, {"value"}}};
  table.add_row({{"abcdefghijkl"}, {"123456"}});
  // 8 columns are the least that a column shrinks to.
  CHECK(table.render({.width = 4}) ==
        "name       value\n"
        "--------  ------\n"
        "abcdefg…  123456\n");
}

TEST_CASE("colours appear on a terminal only, and do not move columns", "[reports][table]") {
  auto table = Table{{{"a"}, {"fits"}}};
  table.add_row({{"1"}, {"no"}});
  CHECK(table.render({}) == "a  fits\n-  ----\n1    no\n");
  CHECK(table.render({.is_terminal = true}) == "\x1b[1ma\x1b[0m  \x1b[1mfits\x1b[0m\n-  ----\n1    no\n");
}

TEST_CASE("a row has one cell for each column", "[reports][table]") {
  auto table = Table{{{"a"}, {"b"}}};
  CHECK_THROWS_AS(table.add_row({{"1"}}), InternalError);
}

TEST_CASE("texts are cut between code points", "[reports][table]") {
  CHECK(display_width("µ–█") == 3);
  CHECK(shortened("µ–█x", 4) == "µ–█x");
  CHECK(shortened("µ–█x", 3) == "µ–…");
  CHECK(shortened("abc", 1) == "…");
  CHECK(shortened("abc", 0).empty());
}

TEST_CASE("sentences wrap at spaces under their label", "[reports][table]") {
  CHECK(wrapped("one two three four", "x: ", {.width = 11}) == "x: one two\n   three\n   four\n");
  CHECK(wrapped("unbreakably", "", {.width = 5}) == "unbreakably\n");
  CHECK(wrapped("", "label", {}) == "label\n");
  CHECK(wrapped("unbreakably", "label ", {.width = 8}) == "label unbreakably\n");
}

TEST_CASE("a word too long for what the label leaves begins further left, whole on its line", "[reports][table]") {
  CHECK(wrapped("a longer b", "label: ", {.width = 10}) == "label: a\n    longer\n       b\n");
  CHECK(wrapped("longer", "label: ", {.width = 10}) == "label:\n    longer\n");
}
