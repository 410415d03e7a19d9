#include <algorithm>
#include <cmath>
#include <sstream>

#include "reports/table.hpp"
#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/step_records.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

/// One record that can be replayed, one on a machine that nobody knows, one with tensor parallelism, one without its
/// model.
std::string four_records() {
  auto const good = foundry_record();
  return "[" + good + "," + changed(good, "h100-80g", "h101-80g") + "," + changed(good, R"("tp": 1)", R"("tp": 8)") +
         "," + changed(good, R"("model")", R"("modell")") + "]";
}

Outcome validate_steps(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"validate", "steps"});
  return run_twinstep(arguments);
}

}  // namespace

TEST_CASE("validate steps prints predictors, families and why records are skipped, in 80 columns", "[cli][steps]") {
  auto const folder = Scratch{};
  auto const outcome = validate_steps({folder.write("steps.json", four_records())});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  for (auto const* const part : {"4 records, 1 row scored", "twinstep", "one MFU", "one HFU", "own one-node row",
                                 "foundry", "3 rows are skipped"})
    CHECK_THAT(outcome.out, Catch::Contains(part));
  auto lines = std::istringstream{outcome.out};
  for (auto line = std::string{}; std::getline(lines, line);) {
    INFO(line);
    CHECK(reports::display_width(line) <= 80);
  }
}

TEST_CASE("validate steps --json lists every record, skipped ones with their reason", "[cli][steps]") {
  auto const folder = Scratch{};
  auto const outcome = validate_steps({folder.write("steps.json", four_records()), "--json"});
  REQUIRE(outcome.exit_code == 0);
  auto const answer = io::parse({"answer", outcome.out});
  auto const records = answer.at("records").elements();
  REQUIRE(records.size() == 4);
  CHECK(records[0].at("unit").string() == "tokens/s/GPU");
  CHECK(records[0].at("measured").number() == 2199);
  // Replayed at all: within a third of what was measured.
  CHECK(std::abs(records[0].at("error").number()) < 1.0 / 3);
  CHECK_FALSE(records[0].at("fitted").boolean());
  CHECK(records[0].at("note").string().empty());  // nothing is assumed, nothing stands for something else
  for (auto const i : {1U, 2U, 3U}) {
    CHECK_FALSE(records[i].find("predicted"));
    CHECK_FALSE(records[i].at("note").string().empty());
  }
  auto const family = answer.at("families").elements().front();
  CHECK(family.at("count").integer() == 1);
  CHECK(family.at("skipped").integer() == 3);
}

TEST_CASE("validate steps keeps a gate on the mean error", "[cli][steps]") {
  auto const folder = Scratch{};
  auto const file = folder.write("steps.json", "[" + foundry_record() + "]");
  CHECK(validate_steps({file, "--max-mape", "100"}).exit_code == 0);
  CHECK(validate_steps({file, "--max-mape", "0"}).exit_code == 1);
  // Nothing was predicted, so nothing can be said to be good enough.
  auto const none = folder.write("none.json", "[" + changed(foundry_record(), R"("tp": 1)", R"("tp": 8)") + "]");
  CHECK(validate_steps({none, "--max-mape", "100"}).exit_code == 1);
}

TEST_CASE("validate steps takes the machine from --cluster in place of the records' own", "[cli][steps]") {
  auto const folder = Scratch{};
  auto const file = folder.write("steps.json", "[" + changed(foundry_record(), "h100-80g", "h101-80g") + "]");
  auto const outcome = validate_steps({file, "--cluster", "dgx-h100-ndr", "--json"});
  REQUIRE(outcome.exit_code == 0);
  CHECK(io::parse({"answer", outcome.out}).at("records").elements()[0].find("predicted"));
}

TEST_CASE("validate steps refuses a file of another kind with one line", "[cli][steps]") {
  auto const folder = Scratch{};
  for (auto const* const text : {R"([{"id": "a", "collective": "all_reduce", "ranks": 8, "rows": [[8, 1]]}])",
                                 R"({"cluster": {}})", "[]", "8 1.0"}) {
    auto const outcome = validate_steps({folder.write("other.json", text)});
    INFO(text);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
  }
  CHECK(validate_steps({folder.path("absent.json")}).exit_code == 2);
}
