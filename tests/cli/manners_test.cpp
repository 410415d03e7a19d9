#include <cstdlib>

#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep::tests;
using Catch::Contains;
using Catch::StartsWith;

TEST_CASE("an option that does not exist is named wherever it stands", "[cli][manners]") {
  for (auto const& arguments : std::vector<std::vector<std::string>>{{"--jsno", "simulate", "s.json"},
                                                                     {"simulate", "--jsno"},
                                                                     {"simulate", "--jsno", "s.json"},
                                                                     {"simulate", "s.json", "--jsno"}}) {
    auto const outcome = run_twinstep(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Contains("--jsno") && Contains("did you mean --json?"));
  }
}

TEST_CASE("help X is X --help", "[cli][manners]") {
  CHECK(run_twinstep({"help", "plan"}).out == run_twinstep({"plan", "--help"}).out);
  CHECK(run_twinstep({"help", "measure", "step"}).out == run_twinstep({"measure", "step", "--help"}).out);
  CHECK(run_twinstep({"help"}).out == run_twinstep({"--help"}).out);
}

TEST_CASE("colours come by wish, and an empty NO_COLOR is none", "[cli][manners]") {
  auto const is_coloured = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"simulate", "examples/gpt2-2xrtx4090.json"});
    return run_twinstep(arguments).out.find("\x1b[") != std::string::npos;
  };
  CHECK_FALSE(is_coloured({}));  // it prints into a pipe
  CHECK(is_coloured({"--color", "always"}));
  CHECK_FALSE(is_coloured({"--color=never"}));
  CHECK_FALSE(is_coloured({"--color=auto"}));
  CHECK(run_twinstep({"simulate", "examples/gpt2-2xrtx4090.json", "--color=green"}).exit_code == 2);
}

TEST_CASE("- is standard output where a file is written", "[cli][manners]") {
  auto const folder = Scratch{};
  auto const scenario = folder.write("small.json", small_scenario());
  auto const page = run_twinstep({"report", scenario, "--out", "-"});
  CHECK(page.exit_code == 0);
  CHECK_THAT(page.out, StartsWith("<!doctype html>") || StartsWith("<!DOCTYPE html>"));
}

TEST_CASE("- is standard input, whose files are seen from the present folder", "[cli][manners]") {
  auto const named = run_twinstep({"simulate", "examples/gpt2-2xrtx4090.json"});
  auto const piped = run_shell("TWINSTEP simulate - < gpt2-2xrtx4090.json", in_repository("examples"));
  INFO(piped.err);
  CHECK(piped.exit_code == 0);
  CHECK(piped.out == named.out);
}

TEST_CASE("report says which file it wrote, and its size", "[cli][manners][report]") {
  auto const folder = Scratch{};
  auto const outcome =
      run_twinstep({"report", folder.write("small.json", small_scenario()), "--out", folder.path("page.html")});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.err, Contains("wrote " + folder.path("page.html") + ", ") && Contains("B\n"));
}

TEST_CASE("shells complete what the help names", "[cli][manners]") {
  for (auto const* const shell : {"bash", "zsh", "fish"}) {
    auto const script = run_twinstep({"completion", shell});
    INFO(shell);
    CHECK(script.exit_code == 0);
    CHECK_THAT(script.out, Contains("simulate") && Contains("leave-one-out") && Contains("nccl-topology"));
  }
  auto const page = run_twinstep({"man"});
  CHECK_THAT(page.out,
             StartsWith(".TH TWINSTEP 1\n") && Contains("twinstep measure step") && Contains("\\-\\-fidelity"));
}
