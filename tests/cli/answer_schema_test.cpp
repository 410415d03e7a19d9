#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schema.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

std::string schema(std::string const& name) {
  return read_file(in_repository("reports/schema/" + name));
}

/// Every object of the schema names its keys, allows no others and says what each means.
void check_says_all(io::Node const& node) {
  if (!node.is(io::Node::Type::kObject)) return;
  if (auto const properties = node.find("properties"); properties && properties->is(io::Node::Type::kObject)) {
    CHECK_FALSE(node.at("additionalProperties").boolean());
    for (auto const& [key, property] : properties->members()) {
      INFO(key);
      CHECK(!property.at("description").string().empty());
      check_says_all(property);
    }
  }
  if (auto const items = node.find("items")) check_says_all(*items);
}

void check_keeps(std::vector<std::string> const& arguments, std::string const& schema_text) {
  auto const outcome = run_twinstep(arguments, in_repository("examples"));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  for (auto const& violation : schema_violations(outcome.out, schema_text)) FAIL_CHECK(violation);
}

}  // namespace

TEST_CASE("the schemas of answers say what every key means", "[cli][schema]") {
  check_says_all(io::parse({"simulate", schema("simulate.schema.json")}).at("definitions").at("answer"));
  check_says_all(io::parse({"collective", schema("collective.schema.json")}));
}

TEST_CASE("every key of a simulated answer stands in its schema", "[cli][schema][simulate]") {
  auto const text = schema("simulate.schema.json");
  check_keeps({"simulate", "gpt2-2xrtx4090.json", "--json", "--why"}, text);
  check_keeps({"simulate", "llama-2-7b-4xh100.json", "--json"}, text);  // several, of which some do not fit
  check_keeps({"simulate", "does-not-divide.json", "--json"}, text);
  check_keeps({"simulate", "mlp-10gbe.json", "--json"}, text);
}

TEST_CASE("every key of a predicted collective stands in its schema", "[cli][schema][collective]") {
  auto const text = schema("collective.schema.json");
  check_keeps({"collective", "dgx-h100-ndr", "--json", "--explain"}, text);
  check_keeps({"collective", "dgx-h100-ndr", "--json", "--op", "all_to_all", "--ranks", "8"}, text);
}
