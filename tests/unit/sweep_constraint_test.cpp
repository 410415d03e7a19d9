#include <map>

#include "app/sweep/constraint.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using app::sweep::Constraint;

namespace {

bool holds(std::string const& text) {
  auto const said =
      std::map<std::string, Constraint::Value>{{"nodes", 4.0}, {"a.b", 10.0}, {"name", std::string{"zero-3"}}};
  auto const constraint = Constraint{io::string_node(text, "test")};
  return constraint.holds([&said](std::string const& path) {
    auto const found = said.find(path);
    return found == said.end() ? Constraint::Value{} : found->second;
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

TEST_CASE("texts are the same or not, and what a point does not say holds", "[sweep]") {
  CHECK(holds("name == 'zero-3'"));
  CHECK(holds("name != 'ddp'"));
  CHECK(holds("name != 3"));
  CHECK(holds("unsaid * 2 < 1"));
}

TEST_CASE("a constraint that is no comparison is refused with what was expected", "[sweep]") {
  auto const message_of = [](std::string const& text) -> std::string {
    try {
      static_cast<void>(holds(text));
    } catch (InputError const& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  using Catch::Contains;
  CHECK_THAT(message_of("nodes"), Contains("found the end in the constraint, expected a comparison"));
  CHECK_THAT(message_of("nodes < (2"), Contains("expected \")\""));
  CHECK_THAT(message_of("nodes < 2 3"), Contains("found \"3\" in the constraint, expected nothing after"));
  CHECK_THAT(message_of("nodes < 'x"), Contains("a single quote at the end"));
  CHECK_THAT(message_of("nodes < "), Contains("expected a path, a number"));
  CHECK_THAT(message_of("name + 1 < 2"), Contains("found a text where + needs numbers"));
  CHECK_THAT(message_of("name < 'b'"), Contains("found a text beside <"));
  CHECK_THAT(message_of(std::string(1000, '(')), Contains("fewer parentheses"));
}
