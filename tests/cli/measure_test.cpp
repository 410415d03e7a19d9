#include <algorithm>

#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

TEST_CASE("measure collective prints nccl-tests' columns, or says that there is no GPU", "[cli][measure]") {
  auto const outcome = run_twinstep(
      {"measure", "collective", "--backend", "nccl", "--op", "all_reduce", "-b", "8", "-e", "64K", "-n", "2"});
  if (outcome.exit_code == 0) {
    CHECK_THAT(outcome.out, Catch::Contains("time   algbw   busbw #wrong") && Catch::Contains("# Avg bus bandwidth"));
  } else {
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::Contains("found no GPU") && Catch::Contains("; "));
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
  }
}

TEST_CASE("measure collective refuses wrong options before it looks for a GPU", "[cli][measure]") {
  auto const refusal = [](std::vector<std::string> const& options) {
    auto arguments = std::vector<std::string>{"measure", "collective"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto const outcome = run_twinstep(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
    return outcome.err;
  };
  CHECK_THAT(refusal({"--backend", "gloo"}), Catch::Contains("expected nccl"));
  CHECK_THAT(refusal({"--backend", "nccl", "--op", "allreduce"}), Catch::Contains("did you mean \"all_reduce\""));
  CHECK_THAT(refusal({"--backend", "nccl", "-b", "8Q"}), Catch::Contains("-b: found \"8Q\", expected a size"));
  CHECK_THAT(refusal({"--backend", "nccl", "-b", "1M", "-e", "8"}), Catch::Contains("the smaller size first"));
  CHECK_THAT(refusal({"--backend", "nccl", "-f", "1"}), Catch::Contains("-f"));
}
