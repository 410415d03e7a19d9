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

TEST_CASE("steps that the constants have seen are met to 3.7 % (FSDP1 on one node)", "[accuracy]") {
  CHECK(error_of_family("llm-foundry-FSDP, fitted") < 3.7);  // 3.4; nine rows that run 12 to 40 % slow are among them
}

TEST_CASE("FSDP on several nodes or in 8 bits, and ZeRO-1, which they have not seen, are predicted to 4.6 %",
          "[accuracy]") {
  CHECK(error_of_family("llm-foundry-FSDP, predicted") < 2.2);  // 2.0: 2 to 16 nodes; TransformerEngine's 8 bits
  CHECK(error_of_family("torchtitan-FSDP2") < 4.6);             // 4.3: recomputed every second layer, by operation
  CHECK(error_of_family("InternEvo-ZeRO1") < 2.4);              // 2.2: states shared by 8 ranks and by all
}

TEST_CASE("DeepSpeed's ZeRO-3, fitted with 128 GPUs, is predicted to 6.2 % with 256 and 512", "[accuracy]") {
  CHECK(error_of_family("DeepSpeed-Azure-ZeRO3, fitted") < 2.0);     // 1.8
  CHECK(error_of_family("DeepSpeed-Azure-ZeRO3, predicted") < 6.2);  // 5.7
}

TEST_CASE("ResNets and ResNeXts with DDP are predicted to 2.4 % from their rows without it and ResNet-50's",
          "[accuracy]") {
  CHECK(error_of_family("PyTorch-DDP-suite, predicted") < 2.4);  // 2.1: nothing but ResNet-50's rows with DDP was seen
}

TEST_CASE("peaks of memory are those that FSDP's users saw, to 5 %", "[accuracy]") {
  CHECK(error_of_family("InternEvo-memory") < 4.0);          // 3.5: nvidia-smi's, in whole GB
  CHECK(error_of_family("torchtitan-FSDP2, memory") < 2.5);  // 1.8: reserved, one row in 16 bits
}

TEST_CASE("what ran is not predicted to be too large for its GPU", "[accuracy]") {
  for (auto const& each : accuracy().at("records").elements()) {
    INFO(each.at("id").string());
    CHECK(each.at("note").string().find("not to fit") == std::string_view::npos);
  }
}

TEST_CASE("a prediction of steps is better than one utilisation fitted to each GPU type and family", "[accuracy]") {
  for (auto const* const rows : {"all", "fitted", "predicted", "one node", "several"}) {
    INFO(rows);
    CHECK(error_of("twinstep", rows) < error_of("one MFU", rows));
  }
}

TEST_CASE("model states are those of the literature and of DeepSpeed's estimator to 0.3 %", "[accuracy]") {
  CHECK(error_of_family("ZeRO-paper-memory") < 0.3);    // rounded by the paper
  CHECK(error_of_family("DeepSpeed-estimator") < 0.3);  // 0.2, with and without offloading; rounded to 10 MB
}
