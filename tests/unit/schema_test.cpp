#include "tests/support/schema.hpp"

#include <algorithm>
#include <string>

#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using tests::schema_violations;

namespace {
constexpr auto kSchema = R"({
  "type": "object", "required": ["name"], "additionalProperties": false,
  "properties": {"name": {"type": "string"}, "gpus": {"$ref": "#/definitions/count"}},
  "definitions": {"count": {"type": "integer", "minimum": 1}}
})";
}  // namespace

TEST_CASE("a document that keeps its schema has no violations", "[io][schema]") {
  CHECK(schema_violations(R"({"name": "a", "gpus": 8})", kSchema).empty());
}

TEST_CASE("each violation of a schema is one line that begins with its path", "[io][schema]") {
  auto const violations = schema_violations(R"({"name": "a", "gpus": 0})", kSchema);
  REQUIRE_FALSE(violations.empty());
  auto const names_gpus = [](std::string const& line) { return line.starts_with("/gpus: "); };
  CHECK(std::any_of(violations.begin(), violations.end(), names_gpus));
  CHECK_FALSE(schema_violations("{}", kSchema).empty());
  CHECK_FALSE(schema_violations(R"({"name": "a", "gpu": 1})", kSchema).empty());
}

TEST_CASE("a text that is not JSON cannot be checked against a schema", "[io][schema]") {
  CHECK_THROWS_AS(schema_violations("{", kSchema), InputError);
  CHECK_THROWS_AS(schema_violations("{}", "{"), InputError);
}
