#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "tests/cli/refusals.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep::tests;

namespace {

Outcome trace_to(Scratch const& folder, std::string const& path) {
  folder.write("good.json", small_scenario());
  return run_twinstep({"simulate", "good.json", "--trace", path}, folder.path(""));
}

}  // namespace

TEST_CASE("a trace never replaces the scenario that it comes from", "[cli]") {
  auto const folder = Scratch{};
  folder.write("good.json", small_scenario());
  std::filesystem::create_symlink("good.json", folder.path("link.json"));
  auto const path = GENERATE("good.json", "./good.json", "link.json");
  check_refusal(trace_to(folder, path),
                {"--trace " + std::string{path}, "good.json is an input and would be replaced", "name another file"});
  CHECK(read_file(folder.path("good.json")) == small_scenario());
}

TEST_CASE("a page never replaces a file that its scenario names, however it is called", "[cli]") {
  auto const folder = Scratch{};
  auto const model = std::string{R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100})"};
  folder.write("config.json", model);
  folder.write("good.json", R"({"cluster": {"profile": "dgx-h100-ndr"}, "model": {"hf_config": "config.json"},
    "training": {"sequence_length": 64, "micro_batch": 1}, "strategy": {"name": "ddp"}})");
  std::filesystem::create_symlink("config.json", folder.path("link.json"));
  auto const path = GENERATE("config.json", "./config.json", "link.json");
  check_refusal(run_twinstep({"simulate", "good.json", "--trace", path}, folder.path("")),
                {"config.json is an input and would be replaced", "name another file"});
  CHECK(read_file(folder.path("config.json")) == model);
}

TEST_CASE("a trace written to a pipe or a device leaves it one", "[cli]") {
  auto const folder = Scratch{};
  auto const pipe = folder.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  auto const reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK);  // keeps the pipe open; it holds 64 KiB
  REQUIRE(reader >= 0);
  REQUIRE(fcntl(reader, F_SETPIPE_SZ, 1 << 20) > 0);
  CHECK(trace_to(folder, "pipe").exit_code == 0);
  CHECK(std::filesystem::is_fifo(pipe));
  auto start = std::string(18, '\0');
  CHECK(read(reader, start.data(), start.size()) == 18);
  CHECK(start == "{\"schemaVersion\": ");
  close(reader);
}

TEST_CASE("a trace written to a link replaces what the link names", "[cli]") {
  auto const folder = Scratch{};
  folder.write("old.json", "old");
  std::filesystem::create_symlink("old.json", folder.path("link.json"));
  CHECK(trace_to(folder, "link.json").exit_code == 0);
  CHECK(std::filesystem::is_symlink(folder.path("link.json")));
  CHECK_THAT(read_file(folder.path("old.json")), Catch::StartsWith("{\"schemaVersion\": "));
}

TEST_CASE("a trace without a name, or with one too long, is refused in one line", "[cli]") {
  auto const folder = Scratch{};
  check_refusal(trace_to(folder, ""), {"--trace \"\": found an empty name", "name one"});
  check_refusal(trace_to(folder, std::string(300, 'x')), {"cannot be written", "name a file"});
  CHECK(folder.files() == std::vector<std::string>{"good.json"});
}

TEST_CASE("a name with a line break or a control character stays one line", "[cli]") {
  auto const folder = Scratch{};
  check_refusal(run_twinstep({"simulate", "a\nb"}, folder.path("")), {"a\\x0ab: found no such file"});
  folder.write("good.json", small_scenario());
  check_refusal(run_twinstep({"simulate", "good.json", "--set", "a\nb=1"}, folder.path("")), {"--set a\\x0ab=1: "});
  folder.write("c1.json", with(small_scenario(), "bf16", "\\u0085\\u009b31m"));
  check_refusal(run_twinstep({"simulate", "c1.json"}, folder.path("")), {"found \"\\x85\\x9b31m\""});
}

TEST_CASE("an empty name of a scenario is shown", "[cli]") {
  check_refusal(run_twinstep({"simulate", ""}), {"twinstep: \"\": found no such file"});
}

TEST_CASE("a file that never ends is refused", "[cli]") {
  check_refusal(run_twinstep({"simulate", "/dev/zero"}), {"/dev/zero: found ", "check the path"});
}

TEST_CASE("a zero byte does not end a document", "[cli]") {
  auto const folder = Scratch{};
  folder.write("zero.json", small_scenario() + '\0' + "anything");
  check_refusal(run_twinstep({"simulate", "zero.json"}, folder.path("")), {"zero.json:7:1: ", "found a zero byte"});
}

TEST_CASE("profiles take a kind before the name, and refuse a name that no file can have", "[cli]") {
  auto const outcome = run_twinstep({"profiles", "check", "cluster/dgx-h100-ndr"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("no findings"));
  check_refusal(run_twinstep({"profiles", "check", std::string(5000, 'x')}), {"found no hardware profile called"});
  check_refusal(run_twinstep({"profiles", "show", "dgx-h100", "dgx-h10"}), {"did you mean \"dgx-h100"});
}

TEST_CASE("names that would break the line or speak to the terminal are escaped in what is printed", "[cli]") {
  auto const folder = Scratch{};
  folder.write("odd.json", with(small_scenario(), "\"family\"", R"("name": "a\nb\u001b[31m", "family")"));
  auto const outcome = run_twinstep({"simulate", "odd.json", "--trace", "odd.trace.json"}, folder.path(""));
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::StartsWith("a\\x0ab\\x1b[31m"));
  auto const trace = read_file(folder.path("odd.trace.json"));
  folder.write("other.trace.json", with(trace, "\"name\": \"attention", R"("name": "\u001b[31m\nattention)"));
  auto const comparison = run_twinstep({"compare", "odd.trace.json", "other.trace.json"}, folder.path(""));
  CHECK(comparison.exit_code == 0);
  CHECK_THAT(comparison.out, !Catch::Contains("\x1b"));
}

TEST_CASE("an answer that cannot be written is no success", "[cli]") {
  auto const arguments = GENERATE(values<std::vector<std::string>>({
      {"simulate", "examples/mlp-10gbe.json"},
      {"simulate", "examples/mlp-10gbe.json", "--json"},
      {"profiles", "list"},
      {"profiles", "show", "dgx-h100"},
      {"profiles", "check", "dgx-h100"},
      {"--help"},
      {"--version"},
  }));
  check_refusal(run_twinstep(arguments, {}, {.out = "/dev/full"}),
                {"standard output cannot be written", "No space left"});
}

TEST_CASE("a command of several files that cannot write one of them writes none", "[cli]") {
  auto const folder = Scratch{};
  folder.write("good.json", small_scenario());
  auto const arguments = GENERATE(values<std::vector<std::string>>({
      {"simulate", "good.json", "--trace", "a.trace.json", "--report", "/dev/full"},
      {"report", "good.json", "--out", "a.html", "--csv", "/dev/full"},
      {"report", "good.json", "--out", "a.html", "--csv", "nowhere/a.csv"},
      {"report", "good.json", "--out", "a.html", "--csv", std::string(300, 'x')},
  }));
  auto const outcome = run_twinstep(arguments, folder.path(""));
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Catch::Contains(arguments.back()));  // below its progress
  CHECK(folder.files() == std::vector<std::string>{"good.json"});
}

TEST_CASE("what cannot be written is refused before anything is computed", "[cli]") {
  // At one bit a second a step takes years: whoever simulates it says so.
  auto const folder = Scratch{};
  folder.write("slow.json", with(small_scenario(), R"("nodes": 2)", R"("nodes": 2, "node": {"nic": "1 b/s"})"));
  auto const too_long = std::string(300, 'x');
  for (auto const& [command, option] : std::vector<std::pair<std::string, std::string>>{
           {"report", "--out"}, {"report", "--csv"}, {"simulate", "--report"}, {"simulate", "--trace"}})
    for (auto const& file : {std::string{"/dev/full"}, too_long})
      check_refusal(run_twinstep({command, "slow.json", option, file}, folder.path("")),
                    {file + ": cannot be written (", "name a file in a folder that you may write to"});
  for (auto const* const command : {"report", "simulate"})
    check_refusal(run_twinstep({command, "slow.json"}, folder.path(""), {.out = "/dev/full"}),
                  {"standard output cannot be written", "No space left"});
  CHECK(folder.files() == std::vector<std::string>{"slow.json"});
}

TEST_CASE("an answer that cannot be printed leaves no file", "[cli]") {
  auto const folder = Scratch{};
  folder.write("good.json", small_scenario());
  check_refusal(
      run_twinstep({"simulate", "good.json", "--trace", "a.trace.json"}, folder.path(""), {.out = "/dev/full"}),
      {"standard output cannot be written"});
  CHECK(folder.files() == std::vector<std::string>{"good.json"});
}

TEST_CASE("two outputs to one file are refused, whatever it is called", "[cli]") {
  auto const folder = Scratch{};
  folder.write("good.json", small_scenario());
  std::filesystem::create_symlink("a.html", folder.path("link"));  // to what is not there yet
  auto const arguments = GENERATE(values<std::vector<std::string>>({
      {"simulate", "good.json", "--trace", "a.html", "--report", "a.html"},
      {"report", "good.json", "--out", "a.html", "--csv", "a.html"},
      {"report", "good.json", "--out", "a.html", "--csv", "./a.html"},
      {"report", "good.json", "--out", "a.html", "--csv", "link"},
  }));
  check_refusal(run_twinstep(arguments, folder.path("")), {" a.html is the same file; name another file"});
  CHECK(folder.files() == std::vector<std::string>{"good.json", "link"});
}

TEST_CASE("devices may be named for several outputs", "[cli]") {
  auto const folder = Scratch{};
  folder.write("good.json", small_scenario());
  CHECK(run_twinstep({"simulate", "good.json", "--trace", "/dev/null", "--report", "/dev/null"}, folder.path(""))
            .exit_code == 0);
}

TEST_CASE("an error keeps its exit code where nobody reads it", "[cli]") {
  CHECK(run_twinstep({"simulate", "nowhere.json"}, {}, {.err = "/dev/full"}).exit_code == 2);
}
