#include <filesystem>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

/// The scenarios among the examples.
std::vector<std::string> example_files() {
  auto files = std::vector<std::string>{};
  for (auto const& entry : std::filesystem::directory_iterator{in_repository("examples")}) {
    auto const name = entry.path().filename().string();
    if (name.ends_with(".json") && !name.starts_with("sweep-")) files.push_back("examples/" + name);
  }
  return files;
}

/// The answers of a file, one for each of its strategies.
std::vector<io::Node> answers_of(std::string const& file) {
  auto const outcome = run_twinstep({"simulate", file, "--json"});
  INFO(file << ": " << outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  auto const document = io::parse({file + " --json", outcome.out});
  return document.has("runs") ? document.at("runs").elements() : std::vector{document};
}

}  // namespace

TEST_CASE("every example is answered, as a table and as JSON", "[cli][examples]") {
  auto const files = example_files();
  REQUIRE(files.size() >= 5);
  for (auto const& file : files) {
    INFO(file);
    auto const outcome = run_twinstep({"simulate", file});
    CHECK(outcome.exit_code == 0);
    CHECK_FALSE(outcome.out.empty());
    CHECK(outcome.err.empty());
    for (auto const& answer : answers_of(file))
      if (answer.at("feasible").boolean()) CHECK(answer.at("step_time_s").number() > 0);
  }
}

TEST_CASE("on 4 DGX H100 the states of LLaMA-2-7B fit where they are sharded", "[cli][examples]") {
  // AdamW in bf16 holds 16 bytes a parameter and 6.74e9 parameters: 108 GB, more than the 80 GB of a GPU. ZeRO-1
  // shards 12 of the 16 bytes over 32 ranks: (4 + 12/32) × 6.74e9 = 29 GB.
  auto const answers = answers_of("examples/llama-2-7b-4xh100.json");
  REQUIRE(answers.size() == 6);
  for (auto const i : {0U, 1U}) CHECK_FALSE(answers[i].at("fits").boolean());
  for (auto const i : {2U, 3U, 4U, 5U}) CHECK(answers[i].at("fits").boolean());
}

TEST_CASE("a batch that does not divide is an answer with a way out", "[cli][examples]") {
  auto const answers = answers_of("examples/does-not-divide.json");
  REQUIRE(answers.size() == 1);
  CHECK_FALSE(answers[0].at("feasible").boolean());
  CHECK_FALSE(answers[0].at("fits").boolean());
  // 32 ranks × 1 sequence; 100 lies between 96 and 128.
  CHECK_THAT(std::string{answers[0].at("reason").string()}, Catch::Contains("100 does not divide"));
  CHECK_THAT(std::string{answers[0].at("way_out").string()}, Catch::Contains("multiple of 32"));
}

TEST_CASE("the table in README.md is what its example prints", "[cli][examples]") {
  auto const outcome = run_twinstep({"simulate", "examples/llama-2-7b-4xh100.json"});
  INFO(outcome.out);
  CHECK(read_file(in_repository("README.md")).find(outcome.out) != std::string::npos);
}
