#include <algorithm>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

std::string dump(std::string_view name) {
  return in_repository("tests/fixtures/topo/" + std::string{name});
}

}  // namespace

TEST_CASE("import prints a profile that profiles check accepts, and what is odd on standard error", "[cli][import]") {
  auto const folder = Scratch{};
  auto const from = {std::pair{"nccl-topology", "oci-bm-gpu-h100-8-topo.xml"},
                     std::pair{"nvidia-smi", "nvidia-smi-topo-dgx-a100-40gb.txt"}};
  for (auto const& [source, name] : from) {
    auto const printed = run_twinstep({"import", source, dump(name)});
    CHECK(printed.exit_code == 0);
    CHECK(io::parse({name, printed.out}).at("gpus").at("value").integer() == 8);
    CHECK_THAT(printed.err, Catch::Contains("warning: "));
    CHECK_THAT(printed.err, Catch::Contains("cannot know the fabric beyond the NICs") ||
                                Catch::Contains("cannot know the GPUs' model"));
    auto const written = run_twinstep({"import", source, dump(name), "--out", folder.path("node.json")});
    CHECK(written.exit_code == 0);
    CHECK(written.out.empty());
    CHECK(read_file(folder.path("node.json")) == printed.out);
    CHECK(run_twinstep({"profiles", "check", folder.path("node.json")}).exit_code == 0);
  }
}

TEST_CASE("import refuses links that lead to their own GPU unless it may leave them out", "[cli][import]") {
  auto const refused = run_twinstep({"import", "nccl-topology", dump("azure-ncv4-topo.xml")});
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.err, Catch::Contains("lead to the GPU itself") && Catch::Contains("--repair"));
  auto const repaired = run_twinstep({"import", "nccl-topology", dump("azure-ncv4-topo.xml"), "--repair"});
  CHECK(repaired.exit_code == 0);
  CHECK_THAT(repaired.err, Catch::Contains("lead to the GPU itself: left out"));
}

TEST_CASE("import of what is no such file is one line and exit 2", "[cli][import]") {
  auto const folder = Scratch{};
  auto const file = folder.write("a.txt", "hello\n");
  for (auto const* const source : {"nccl-topology", "nvidia-smi", "nccl-tests"}) {
    auto const refused = run_twinstep({"import", source, file});
    CHECK(refused.exit_code == 2);
    CHECK(std::ranges::count(refused.err, '\n') == 1);
    CHECK(run_twinstep({"import", source, folder.path("none")}).exit_code == 2);
  }
}

TEST_CASE("import nccl-tests prints records", "[cli][import]") {
  auto const outcome = run_twinstep({"import", "nccl-tests", in_repository("tests/fixtures/nccl_tests.log")});
  CHECK(outcome.exit_code == 0);
  CHECK(io::parse({"records", outcome.out}).elements().size() == 2);
  CHECK_THAT(outcome.err, Catch::Contains("is cut off"));
}
