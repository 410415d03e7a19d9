#include <string_view>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;

namespace {

io::Node const& accuracy() {
  static auto const answer = [] {
    auto const outcome =
        tests::run_twinstep({"validate", "steps", tests::in_repository("tests/accuracy/steps.json"), "--json"});
    REQUIRE(outcome.exit_code == 0);
    return io::parse({"accuracy", outcome.out});
  }();
  return answer;
}

/// The mean error of a family, in per cent.
double error_of_family(std::string_view family) {
  for (auto const& each : accuracy().at("families").elements())
    if (each.at("family").string() == family) return each.at("mape").number() * 100;
  FAIL("no family called " << family);
  return 0;
}

/// The mean error of a way of predicting, over some of the rows, in per cent.
double error_of(std::string_view predictor, std::string_view rows) {
  for (auto const& each : accuracy().at("predictors").elements()) {
    if (each.at("name").string() != predictor) continue;
    for (auto const& figures : each.at("errors").elements())
      if (figures.at("sizes").string() == rows) return figures.at("mean").number() * 100;
  }
  FAIL("no such figures");
  return 0;
}

}  // namespace

// What stands today is in the comments, in per cent; a limit leaves it about a tenth.

TEST_CASE("steps that the constants have seen are met to 4.3 % (FSDP, 1 to 4 nodes)", "[accuracy]") {
  CHECK(error_of_family("llm-foundry-FSDP, fitted") < 4.3);  // 3.9; five rows that run 20 to 40 % slow are among them
}

TEST_CASE("steps that they have not seen are predicted to 3 % (8 and 16 nodes; InternEvo)", "[accuracy]") {
  CHECK(error_of_family("llm-foundry-FSDP, predicted") < 2.6);  // 2.3
  CHECK(error_of_family("InternEvo-ZeRO1") < 3.0);              // 2.6
}

TEST_CASE("DeepSpeed's ZeRO-3, whose schedule is not modelled, is predicted to 32 %", "[accuracy]") {
  CHECK(error_of_family("DeepSpeed-Azure-ZeRO3") < 32);  // 29: too fast, as if all communication were hidden
}

TEST_CASE("a prediction of steps is better than one utilisation fitted to each GPU type and family", "[accuracy]") {
  for (auto const* const rows : {"all", "fitted", "predicted", "one node", "several"}) {
    INFO(rows);
    CHECK(error_of("twinstep", rows) < error_of("one MFU", rows));
  }
}

TEST_CASE("model states are those of the literature to 0.3 %, of DeepSpeed's estimator to 2.1 %", "[accuracy]") {
  CHECK(error_of_family("ZeRO-paper-memory") < 0.3);    // rounded by the paper
  CHECK(error_of_family("DeepSpeed-estimator") < 2.1);  // 1.9: its largest layer is not counted
}
