#include <algorithm>
#include <sstream>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

TEST_CASE("profiles list names every kind, and show prints each listed name", "[cli][profiles]") {
  auto const list = run_twinstep({"profiles", "list"});
  REQUIRE(list.exit_code == 0);
  auto stream = std::istringstream{list.out};
  auto lines = 0;
  for (auto line = std::string{}; std::getline(stream, line); ++lines) {
    auto words = std::istringstream{line};
    auto kind = std::string{};
    auto name = std::string{};
    words >> kind >> name;
    INFO(line);
    auto const shown = run_twinstep({"profiles", "show", kind + "/" + name});
    CHECK(shown.exit_code == 0);
    CHECK(io::parse({name, shown.out}).at("name").string() == name);
  }
  CHECK(lines >= 100);
  for (auto const* const kind : {"cluster ", "node ", "gpu ", "fabric ", "link ", "transport ", "library ", "stack "})
    CHECK_THAT(list.out, Catch::Contains(kind));
}

TEST_CASE("every number of a shown GPU says how it is known and where from", "[cli][profiles]") {
  auto const shown = run_twinstep({"profiles", "show", "h100-sxm5-80"});
  REQUIRE(shown.exit_code == 0);
  auto const memory = io::parse({"h100-sxm5-80", shown.out}).at("memory_capacity");
  CHECK(memory.at("value").bytes() > Bytes{});
  CHECK_FALSE(memory.at("source").string().empty());
  CHECK_FALSE(memory.at("basis").string().empty());
}

TEST_CASE("profiles check finds nothing in what ships, and the place in what is wrong", "[cli][profiles]") {
  auto const all = run_twinstep({"profiles", "check"});
  CHECK(all.exit_code == 0);
  CHECK(all.err.empty());

  auto const folder = Scratch{};
  auto const gpu = run_twinstep({"profiles", "show", "gpu/h100-sxm5-80"}).out;
  folder.write("gpu.json", with(gpu, R"("memory_capacity": {"value": ")", R"("memory_capacity": {"value": "-)"));
  auto const broken = run_twinstep({"profiles", "check", "gpu.json"}, folder.path(""));
  CHECK(broken.exit_code == 2);
  CHECK(broken.out.empty());
  CHECK_THAT(broken.err, Catch::Contains("gpu.json:7:32: /memory_capacity/value: "));
  CHECK(std::ranges::count(broken.err, '\n') == 1);
  folder.write("gpu.json", with(gpu, R"("aliases": ["h100-80g", )", R"("aliases": ["h100-80g", 7, )"));
  auto const odd = run_twinstep({"profiles", "check", "gpu.json"}, folder.path(""));
  CHECK(odd.exit_code == 2);
  CHECK_THAT(odd.err, Catch::Contains("gpu.json:5:27: /aliases/1: found 7, expected text"));
  CHECK(std::ranges::count(odd.err, '\n') == 1);
}

TEST_CASE("profiles check finds a profile of every kind by its name", "[cli][profiles]") {
  for (auto const* const name :
       {"flat-switch", "dgx-h100", "h100-80g", "infiniband-ndr", "nvlink4", "transport/ideal", "rccl"}) {
    auto const outcome = run_twinstep({"profiles", "check", name});
    INFO(name);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("no findings"));
  }
}

TEST_CASE("profiles check asks a file that does not say its kind to name its schema", "[cli][profiles]") {
  auto const folder = Scratch{};
  folder.write("gpu.json", R"({"name": "gpu"})");
  auto const refused = run_twinstep({"profiles", "check", "gpu.json"}, folder.path(""));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Contains("found no \"$schema\"") &&
                              Catch::Contains("name KIND.schema.json, KIND being cluster, node, gpu"));
}
