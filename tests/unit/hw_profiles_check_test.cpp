#include <string>

#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/texts.hpp"

using namespace twinstep;
using namespace twinstep::hw_profiles;
using namespace twinstep::tests;

TEST_CASE("every shipped profile keeps its schema and can be read", "[hw_profiles]") {
  for (auto const& profile : list_profiles()) {
    CAPTURE(profile.name);
    CHECK(check_profile(profile.kind, profile_file(profile.kind, profile.name),
                        profile_text(profile.kind, profile.name)) == std::vector<std::string>{});
    CHECK(schema_violations(std::string{profile_text(profile.kind, profile.name)},
                            std::string{schema_text(profile.kind)}) == std::vector<std::string>{});
  }
}

TEST_CASE("checking a profile finds breaches of its schema and what cannot be read", "[hw_profiles]") {
  auto const gpu = profile_text(Kind::kGpu, "h100-sxm5-80");
  auto const unitless = check_profile(Kind::kGpu, "g.json", changed(gpu, "\"80998 MiB\"", "\"80998\""));
  REQUIRE(unitless.size() == 1);
  CHECK(any_contains(unitless, "/memory_capacity"));
  CHECK(any_contains(unitless, "\"80998\" has no unit, expected a memory size"));
  auto const bare = changed(gpu, "{\"value\": 132,", "{\"value\": 132, \"bassis\": 1,");
  CHECK(any_contains(check_profile(Kind::kGpu, "g.json", bare),
                     "found the unknown key \"bassis\"; did you mean \"basis\"?"));
}

TEST_CASE("checking a cluster finds references to profiles that do not exist", "[hw_profiles]") {
  auto const text = changed(profile_text(Kind::kCluster, "dgx-h100-ndr"), "\"dgx-h100\"", "\"dgx-h10\"");
  CHECK(any_contains(check_profile(Kind::kCluster, "c.json", text), "did you mean \"dgx-h100\"?"));
}

TEST_CASE("a file without the schema of a profile cannot be checked", "[hw_profiles]") {
  CHECK_THROWS_AS(check_profile(io::Source{"such.json", "no JSON"}), InputError);
}

TEST_CASE("checking a profile finds what a scenario may leave out and a file may not", "[hw_profiles]") {
  auto const gpu = profile_text(Kind::kGpu, "h100-sxm5-80");
  auto const finding = [&](std::string const& from, std::string const& to) {
    return check_profile(Kind::kGpu, "g.json", changed(gpu, from, to));
  };
  CHECK(any_contains(finding("\"name\": \"h100-sxm5-80\"", "\"name\": \"\""), "/name: found an empty name"));
  CHECK(any_contains(finding("\"aliases\": [", "\"aliases\": [7, "), "/aliases/0: found 7, expected text"));
  auto const link = profile_text(Kind::kLibrary, "nccl");
  CHECK(any_contains(
      check_profile(Kind::kLibrary, "l.json", changed(link, "\"protocols\": {", "\"protocols\": {\"ll64\": {}, ")),
      "found the unknown key \"ll64\""));
}
