#include <map>

#include "explore/sweep/constraint.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::explore::sweep;

namespace {

bool holds(std::string const& text) {
  auto const said = std::map<std::string, Value>{{"nodes", Number{4}},
                                                 {"a.b", Number{10}},
                                                 {"name", std::string{"zero-3"}},
                                                 {"nic", value_of_text("400 Gb/s")},
                                                 {"hbm", value_of_text("80 GB")},
                                                 {"flash", true},
                                                 {"object", Composite{}}};
  auto const constraint = Constraint{io::string_node(text, "test")};
  return constraint.holds([&said](std::string const& path) {
    auto const found = said.find(path);
    return found == said.end() ? Value{} : found->second;
  });
}

}  // namespace

TEST_CASE("a constraint calculates as arithmetic is written", "[sweep]") {
  CHECK(holds("2 + 3 * nodes == 14"));  // not 20
  CHECK(holds("(2 + 3) * nodes == 20"));
  CHECK(holds("a.b - 3 - 2 == 5"));  // from the left
  CHECK(holds("a.b / nodes == 2.5"));
  CHECK(holds("a.b % nodes == 2"));
  CHECK(holds("-nodes < 0"));
  CHECK(holds("nodes<=4"));
  CHECK_FALSE(holds("nodes < 4"));
  CHECK(holds("nodes >= 4"));
  CHECK_FALSE(holds("nodes != 4"));
}

TEST_CASE("texts and booleans are the same or not", "[sweep]") {
  CHECK(holds("name == 'zero-3'"));
  CHECK(holds("name != 'ddp'"));
  CHECK(holds("flash == true"));
  CHECK_FALSE(holds("flash != true"));
}

TEST_CASE("quantities are compared with quantities in whatever unit", "[sweep]") {
  CHECK(holds("nic == '50 GB/s'"));  // 8 bits a byte
  CHECK(holds("nic * 2 > '700 Gb/s'"));
  CHECK(holds("nic / '100 Gb/s' == 4"));
  CHECK(holds("hbm / nic == '1.6 s'"));  // 80 GB / 50 GB/s
}

TEST_CASE("what a point does not say holds, unless that is the question", "[sweep]") {
  CHECK(holds("unsaid * 2 < 1"));
  CHECK(holds("unsaid == null"));
  CHECK_FALSE(holds("unsaid != null"));
  CHECK(holds("nodes != null"));
}

namespace {

std::string complaint_of(std::string const& text) {
  try {
    static_cast<void>(holds(text));
  } catch (InputError const& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("a constraint without an answer says which part has none, and the way out", "[sweep]") {
  auto const [text, message] = GENERATE(table<std::string, std::string>({
      {"a.b / (nodes - 4) < 2", "found a division by zero in a.b / (nodes - 4): nodes - 4 is 0; leave such points out"},
      {"a.b % 0 < 2", "found a division by zero in a.b % 0: 0 is 0"},
      {"1e308 * nodes > 1", "found a number beyond 1.8e308 in 1e308 * nodes; use smaller ones"},
      {"name + 1 < 2", "found name (the text \"zero-3\") where + needs numbers"},
      {"flash * 1 == 1", "found flash (true) where * needs numbers"},
      {"name == 3",
       "found name (the text \"zero-3\") beside the number 3, expected two values of one kind; compare a "
       "number with a number, a text with one in single quotes"},
      {"name != 3", "beside the number 3"},
      {"nodes < 'x'", "found nodes (the number 4) beside the text \"x\""},
      {"name < 'b'", "found name (the text \"zero-3\") beside <, expected numbers; compare it with == or !="},
      {"flash == 1", "found flash (true) beside the number 1"},
      {"object == 1", "found object (an object or a list) beside the number 1"},
      {"object == object", "found object (an object or a list)"},
      {"nic <= 400",
       "found nic (a bandwidth) beside the number 400, expected two values of one kind; write quantities "
       "with their units, in single quotes: '400 Gb/s'"},
      {"nic < hbm", "found nic (a bandwidth) beside hbm (a size)"},
      {"nic + 1 < hbm", "found nic (a bandwidth) beside the number 1"},
      {"nodes < null", "found null beside <, expected a value; compare it with == or !="},
      {"null * 2 == 1", "found null beside *"},
  }));
  INFO(text);
  CHECK_THAT(complaint_of(text), Catch::Contains(message));
}

TEST_CASE("a constraint that is no comparison is refused with what was expected", "[sweep]") {
  using Catch::Contains;
  CHECK_THAT(complaint_of("nodes"), Contains("found the end in the constraint, expected a comparison"));
  CHECK_THAT(complaint_of("nodes < (2"), Contains("expected \")\""));
  CHECK_THAT(complaint_of("nodes < 2 3"), Contains("found \"3\" in the constraint, expected nothing after"));
  CHECK_THAT(complaint_of("nodes < 'x"), Contains("a single quote at the end"));
  CHECK_THAT(complaint_of("nodes < "), Contains("expected a path, a number"));
  CHECK_THAT(complaint_of(std::string(1000, '(')), Contains("fewer parentheses"));
}
