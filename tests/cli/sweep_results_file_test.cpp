#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <sstream>
#include <sys/stat.h>
#include <thread>

#include "explore/sweep/database.hpp"
#include "explore/sweep/results.hpp"
#include "reports/table.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "tests/cli/sweep_support.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using explore::sweep::read_results;

namespace {

using Catch::Contains;

bool has_rows(std::string const& out) {
  try {
    return !read_results(out).rows.empty();
  } catch (InputError const&) {
    return false;
  }
}

/// Waits until the sweep has committed its first rows. Fails where it ends before.
void wait_for_rows(pid_t sweep, std::string const& out) {
  while (!has_rows(out)) {
    if (is_over(sweep)) FAIL("the sweep ended without rows");
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
}

}  // namespace

TEST_CASE("killed at any moment and resumed, a sweep loses and doubles no row", "[cli][sweep]") {
  using Clock = std::chrono::steady_clock;
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", sweep_of_everything());
  auto const undisturbed = folder.path("undisturbed.csv");
  auto const began = Clock::now();
  REQUIRE(run_twinstep({"sweep", sweep, "--out", folder.path("a.sqlite"), "--csv", undisturbed}).exit_code == 0);
  auto const longest = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began).count();
  auto random = std::mt19937{20261130};
  auto arguments = std::vector<std::string>{"sweep", sweep, "--out", folder.path("killed.sqlite"), "--resume"};
  for (auto kills = 0; kills < 6; ++kills) {
    auto const process = start_twinstep(arguments, folder.path("err"));
    std::this_thread::sleep_for(std::chrono::microseconds{std::uniform_int_distribution{1L, longest}(random)});
    kill(process, SIGKILL);
    wait_for(process);
  }
  arguments.insert(arguments.end(), {"--csv", folder.path("killed.csv")});
  auto const outcome = run_twinstep(arguments);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(read_file(folder.path("killed.csv")) == read_file(undisturbed));
}

TEST_CASE("interrupted, a sweep keeps what it has and says how to go on", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const sweep =
      folder.write("sweep.json", small_sweep(R"("axes": {"cluster.nodes": {"from": 1, "to": 100000, "step": 1}})"));
  auto const out = folder.path("results.sqlite");
  auto const process = start_twinstep({"sweep", sweep, "--out", out}, folder.path("err"));
  wait_for_rows(process, out);
  kill(process, SIGINT);
  CHECK(wait_for(process) == 130);
  CHECK_THAT(read_file(folder.path("err")),
             Contains("interrupted; what was answered is in") && Contains("go on with the same command and --resume"));
  auto const results = read_results(out);
  CHECK_FALSE(results.is_finished);
  for (std::size_t i = 0; i < results.rows.size(); ++i) CHECK(results.rows[i].point == static_cast<std::int64_t>(i));
}

TEST_CASE("results are not replaced, and those of another sweep not mixed with", "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  auto const out = folder.path("results.sqlite");
  static_cast<void>(swept(folder, small_sweep(R"("axes": {"cluster.nodes": [1, 2]})")));
  auto const before = read_file(out);
  auto const again = run_twinstep({"sweep", folder.path("sweep.json"), "--out", out});
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, Contains("is there already; resume that sweep"));
  auto const resumed = run_twinstep({"sweep", folder.path("sweep.json"), "--out", out, "--resume", "--json"});
  CHECK(resumed.exit_code == 0);
  CHECK(io::parse({"", resumed.out}).at("asked").integer() == 0);
  struct Case {
    std::string file;
    std::vector<std::string> options;
    std::string difference;
  };
  auto const axes = std::string{R"("axes": {"cluster.nodes": [1, 2]})"};
  for (auto const& [file, options, difference] : std::vector<Case>{
           {folder.write("other.json", small_sweep(R"("axes": {"cluster.nodes": [1, 2, 4]})")),
            {},
            "sweep.axes.cluster.nodes is [1, 2], expected [1, 2, 4]"},
           {folder.write("base.json", with(small_sweep(axes), "\"hidden\": 1024", "\"hidden\": 2048")),
            {},
            "sweep.base.model.hidden is 1024, expected 2048"},
           {folder.path("sweep.json"), {"--fidelity", "closed"}, R"(--fidelity is "folded", expected "closed")"},
           {folder.path("sweep.json"), {"--skip-allocator"}, "--skip-allocator is false, expected true"}}) {
    auto arguments = std::vector<std::string>{"sweep", file, "--out", out, "--resume"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto const outcome = run_twinstep(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Contains("found results of another sweep: " + difference));
  }
  CHECK(read_results(out).rows.size() == 2);
}

TEST_CASE("whoever reads results refuses damaged ones, and writes nothing", "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  static_cast<void>(swept(folder, small_sweep(R"("axes": {"cluster.nodes": [1, 2]})")));
  auto const out = folder.path("results.sqlite");
  explore::sweep::Database{out, explore::sweep::Database::Access::kWrite}.execute(
      "UPDATE points SET mfu = -1 WHERE point = 1");
  auto const before = read_file(out);
  for (auto const& arguments : std::vector<std::vector<std::string>>{
           {"sweep", out},
           {"sweep", out, "--csv", folder.path("x.csv"), "--jsonl", folder.path("x.jsonl")},
           {"sweep", folder.path("sweep.json"), "--out", out, "--resume"},
           {"report", out, "--out", folder.path("x.html")}}) {
    auto const outcome = run_twinstep(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err,
               Contains("row 2, column \"mfu\": found -1, expected a number from 0 on; the file is damaged"));
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
  }
  CHECK((read_file(out) == before));
  CHECK(folder.files() == std::vector<std::string>{"results.sqlite", "sweep.json"});
}

TEST_CASE("an export that cannot be written says so, and the results stay", "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  static_cast<void>(swept(folder, small_sweep(R"("axes": {"cluster.nodes": [1]})")));
  auto const out = folder.path("results.sqlite");
  auto const before = read_file(out);
  auto const pipe = folder.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (auto const* const option : {"--csv", "--jsonl"}) {
    auto const full = run_twinstep({"sweep", out, option, "/dev/full"});
    CHECK(full.exit_code == 2);
    CHECK_THAT(full.err, Contains("/dev/full: cannot be written (No space left on device)"));
    auto const unread = run_twinstep({"sweep", out, option, pipe});
    CHECK(unread.exit_code == 2);
    CHECK_THAT(unread.err, Contains("pipe: found a pipe that nobody reads; start its reader first, or name a file"));
  }
  CHECK((read_file(out) == before));
  // The shell holds the reading end before the program starts, which is faster than another reader.
  auto const read = run_shell("exec 3<>" + pipe + "; TWINSTEP sweep " + out + " --csv " + pipe +
                              " > /dev/null && dd bs=64k count=1 <&3 2>/dev/null");
  CHECK_THAT(read.out, Catch::StartsWith("point,cluster.nodes,status,reason,"));
}

TEST_CASE("results of another model are not gone on with, though its version is the same", "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  auto const out = folder.path("results.sqlite");
  static_cast<void>(swept(folder, small_sweep(R"("axes": {"cluster.nodes": [1, 2]})")));
  auto const version = run_twinstep({"--version"}).out;  // "0.1.0 (commit 3f2a90c1d0aa, model 9be01c22f0aa, with …)"
  auto const model = version.substr(version.find("model "), std::string{"model 9be01c22f0aa"}.size());
  auto file = read_file(out);
  REQUIRE(file.find(model) != std::string::npos);
  file.replace(file.find(model), model.size(), "model 000000000000");
  folder.write("results.sqlite", file);
  auto const resumed = run_twinstep({"sweep", folder.path("sweep.json"), "--out", out, "--resume"});
  CHECK(resumed.exit_code == 2);
  CHECK_THAT(resumed.err, Contains("model 000000000000") && Contains(model));
}

TEST_CASE("a file at its limit ends the sweep with a message, and what was committed is resumed",
          "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", sweep_of_everything());
  auto const tail = " TWINSTEP sweep " + sweep + " --out " + folder.path("r.sqlite");
  // In blocks of 1024 bytes: too few for 66 rows.
  auto const limited = run_shell("ulimit -f 40;" + tail);
  CHECK(limited.exit_code == 2);
  CHECK_THAT(limited.err, Contains("what was committed is kept: make room, and resume the sweep"));
  CHECK(run_shell(tail + " --resume").exit_code == 0);
  CHECK(read_results(folder.path("r.sqlite")).rows.size() == 66);
}

TEST_CASE("results that are taken away while the sweep runs are missed", "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  auto const sweep =
      folder.write("sweep.json", small_sweep(R"("axes": {"cluster.nodes": {"from": 1, "to": 100000, "step": 1}})"));
  auto const out = folder.path("results.sqlite");
  auto const process = start_twinstep({"sweep", sweep, "--out", out}, folder.path("err"));
  wait_for_rows(process, out);
  CHECK(std::filesystem::remove(out));
  CHECK(wait_for(process) == 2);
  CHECK_THAT(read_file(folder.path("err")), Contains("was removed or replaced while the sweep wrote into it"));
}
