#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

/// A folder with the timelines of the small scenario by zero-3 and by ddp.
void write_traces(Scratch const& folder) {
  folder.write("small.json", small_scenario());
  for (auto const* const strategy : {"zero-3", "ddp"})
    REQUIRE(run_twinstep({"simulate", "small.json", "--set", std::string{"strategy.name="} + strategy, "--trace",
                          std::string{strategy} + ".json"},
                         folder.path(""))
                .exit_code == 0);
}

io::Node compared(Scratch const& folder, std::string const& a, std::string const& b) {
  auto const outcome = run_twinstep({"compare", a, b, "--json"}, folder.path(""));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return io::parse({"compare --json", outcome.out});
}

}  // namespace

TEST_CASE("a timeline does not differ from itself", "[cli][compare]") {
  auto const folder = Scratch{};
  write_traces(folder);
  auto const comparison = compared(folder, "zero-3.json", "zero-3.json");
  CHECK(comparison.at("step_time").at("ratio").number() == 1);
  CHECK(comparison.at("only_a").elements().empty());
  CHECK(comparison.at("only_b").elements().empty());
  auto const text = run_twinstep({"compare", "zero-3.json", "zero-3.json"}, folder.path(""));
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, Catch::Contains("matched operations take the same time"));
}

TEST_CASE("ddp reduces where zero-3 gathers and scatters", "[cli][compare]") {
  auto const folder = Scratch{};
  write_traces(folder);
  auto const comparison = compared(folder, "zero-3.json", "ddp.json");
  CHECK_FALSE(comparison.at("only_a").elements().empty());
  CHECK_FALSE(comparison.at("only_b").elements().empty());
  for (auto const& kind : comparison.at("kinds").elements()) {
    auto const name = kind.at("kind").string();
    if (name == "all_reduce") CHECK(kind.at("a_spans").integer() == 0);
    if (name == "all_gather" || name == "reduce_scatter") CHECK(kind.at("b_spans").integer() == 0);
  }
  // ddp holds every state 16 times: more memory.
  CHECK(comparison.at("peak_memory").at("ratio").number() > 1);
  CHECK_THAT(run_twinstep({"compare", "zero-3.json", "ddp.json"}, folder.path("")).out,
             Catch::Contains("all_gather") && Catch::Contains("all_reduce"));
}
