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
using explore::sweep::Status;

namespace {

using Catch::Contains;

/// What is wrong with a sweep, in one line, with exit code 2.
std::string refusal(std::string const& sweep, std::vector<std::string> options = {}) {
  auto const folder = Scratch{};
  auto arguments = std::vector<std::string>{"sweep", folder.write("sweep.json", sweep)};
  if (options.empty()) options = {"--out", folder.path("results.sqlite")};
  arguments.insert(arguments.end(), options.begin(), options.end());
  auto const outcome = run_twinstep(arguments);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
  CHECK(folder.files() == std::vector<std::string>{"sweep.json"});
  return outcome.err;
}

}  // namespace

TEST_CASE("points are all combinations, the last axis fastest", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const results = swept(folder, small_sweep(R"("points": [{"cluster.nodes": 1}, {"training.micro_batch": 2}],
    "axes": {"cluster.node.nic": {"from": "100 Gb/s", "to": "400 Gb/s", "factor": 4}, "strategy.name": ["ddp", "zero-1"]})"));
  CHECK(results.manifest.paths ==
        std::vector<std::string>{"cluster.nodes", "training.micro_batch", "cluster.node.nic", "strategy.name"});
  REQUIRE(results.rows.size() == 8);
  using Cells = std::vector<explore::sweep::Cell>;
  CHECK(results.rows[0].settings == Cells{std::int64_t{1}, {}, "100 Gb/s", "ddp"});
  CHECK(results.rows[1].settings == Cells{std::int64_t{1}, {}, "100 Gb/s", "zero-1"});
  CHECK(results.rows[2].settings == Cells{std::int64_t{1}, {}, "400 Gb/s", "ddp"});
  CHECK(results.rows[7].settings == Cells{{}, std::int64_t{2}, "400 Gb/s", "zero-1"});
}

TEST_CASE("a row says what simulate says", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const fidelity = GENERATE(as<std::string>{}, "folded", "closed", "exact");
  auto const out = folder.path("results.sqlite");
  auto const sweep = folder.write("sweep.json", small_sweep(R"("axes": {"cluster.nodes": [1, 2]})"));
  REQUIRE(run_twinstep({"sweep", sweep, "--out", out, "--fidelity", fidelity}).exit_code == 0);
  auto const row = read_results(out).rows.at(1);
  auto const scenario = folder.write("scenario.json", small_scenario());
  auto const outcome =
      run_twinstep({"simulate", scenario, "--set", "cluster.nodes=2", "--json", "--fidelity", fidelity});
  auto const answer = io::parse({"simulate", outcome.out});
  for (auto const* const figure : {"step_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "mfu", "hfu", "world_size",
                                   "peak_memory_bytes", "reserved_memory_bytes", "exposed_communication_s", "events"}) {
    INFO(figure);
    CHECK(row.number(figure) == answer.at(figure).number());
  }
  auto const memory = io::parse({"memory", std::string{row.text("memory")}});
  for (auto const& [category, bytes] : answer.at("memory").members()) {
    INFO(category);
    CHECK(memory.at(category).integer() == bytes.integer());
  }
  CHECK(row.text("scenario") == answer.at("scenario").string());
}

TEST_CASE("a point that is wrong, infeasible or too large is a row with its reason", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const results = swept(folder, small_sweep(R"("points": [
    {}, {"cluster.nodes": "two"}, {"training.global_batch": 17},
    {"model.layers": 200, "model.hidden": 16384, "strategy.name": "ddp"}])"));
  REQUIRE(results.rows.size() == 4);
  CHECK(results.rows[0].status == Status::kOk);
  CHECK(results.rows[0].reason.empty());
  CHECK(results.rows[1].status == Status::kWrongInput);
  CHECK_THAT(results.rows[1].reason, Contains("/cluster/nodes") && Contains("\"two\""));
  CHECK(results.rows[2].status == Status::kInfeasible);
  CHECK_THAT(results.rows[2].reason, Contains("17 does not divide"));
  CHECK(results.rows[3].status == Status::kDoesNotFit);
  CHECK_THAT(results.rows[3].reason, Contains("needs") && Contains("has 79.1 GiB"));
  CHECK(results.rows[3].number("fits") == 0);
}

TEST_CASE("every example of a sweep is answered", "[cli][sweep][examples]") {
  for (auto const* const example : {"examples/sweep-nodes.json", "examples/sweep-network.json"}) {
    INFO(example);
    auto const folder = Scratch{};
    auto const outcome = run_twinstep({"sweep", example, "--out", folder.path("r.sqlite"), "--fidelity", "closed"});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    auto const results = read_results(folder.path("r.sqlite"));
    CHECK(results.is_finished);
    CHECK(std::ranges::any_of(results.rows, [](auto const& row) { return row.status == Status::kOk; }));
    CHECK(std::ranges::none_of(results.rows, [](auto const& row) { return row.status == Status::kWrongInput; }));
  }
}

TEST_CASE("points that break a constraint are left out and keep their numbers", "[cli][sweep]") {
  auto const folder = Scratch{};
  // 8, 16, 24, 32 ranks for a batch of 16: what remains are points 0 and 1.
  auto const sweep = small_sweep(R"("axes": {"cluster.nodes": {"from": 1, "to": 4, "step": 1}},
    "constraints": ["cluster.nodes * 8 <= training.global_batch", "strategy.name == 'zero-3'"])");
  auto const results = swept(folder, sweep);
  REQUIRE(results.rows.size() == 2);
  CHECK(results.rows[1].point == 1);
  auto const summary = run_twinstep({"sweep", folder.path("results.sqlite"), "--json"});
  CHECK(io::parse({"", summary.out}).at("left_out").integer() == 2);
}

TEST_CASE("a point at which a constraint has no answer is a row that says so", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const results = swept(folder, small_sweep(R"("axes": {"cluster.nodes": [1, 2, 3]},
    "constraints": ["training.global_batch / (cluster.nodes - 1) >= 10"])"));
  // 16 / 0, 16 / 1 and 16 / 2.
  REQUIRE(results.rows.size() == 2);
  CHECK(results.rows[0].status == Status::kWrongInput);
  CHECK_THAT(results.rows[0].reason, Contains("/constraints/0: found a division by zero"));
  CHECK(results.rows[1].point == 1);
}

TEST_CASE("a base in a file with several strategies has them as its last axis", "[cli][sweep]") {
  auto const folder = Scratch{};
  folder.write("scenario.json",
               with(small_scenario(), R"({"name": "zero-3"})", R"([{"name": "ddp"}, {"name": "zero-3"}])"));
  auto const results = swept(folder, R"({"base": "scenario.json", "axes": {"cluster.nodes": [1, 2]}})");
  CHECK(results.manifest.paths == std::vector<std::string>{"cluster.nodes", "strategy"});
  REQUIRE(results.rows.size() == 4);
  CHECK(results.rows[1].settings[1] == explore::sweep::Cell{"{\"name\": \"zero-3\"}"});
}

TEST_CASE("exports are the same whatever the number of threads, from the run and from the file", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", sweep_of_everything());
  auto const run = [&](std::string const& name, std::string const& jobs) {
    auto const outcome = run_twinstep({"sweep", sweep, "--out", folder.path(name + ".sqlite"), "--jobs", jobs, "--csv",
                                       folder.path(name + ".csv"), "--jsonl", folder.path(name + ".jsonl")});
    CHECK(outcome.exit_code == 0);
  };
  run("one", "1");
  run("five", "5");
  CHECK(read_file(folder.path("one.csv")) == read_file(folder.path("five.csv")));
  CHECK(read_file(folder.path("one.jsonl")) == read_file(folder.path("five.jsonl")));
  REQUIRE(run_twinstep({"sweep", folder.path("five.sqlite"), "--csv", folder.path("later.csv")}).exit_code == 0);
  CHECK(read_file(folder.path("one.csv")) == read_file(folder.path("later.csv")));
  // Points of every kind were among them: batches of 32 on one node, 6 points, are left out.
  auto const rows = read_results(folder.path("one.sqlite")).rows;
  CHECK(rows.size() == 72 - 6);
  for (auto const status : {Status::kOk, Status::kDoesNotFit, Status::kInfeasible, Status::kWrongInput})
    CHECK(std::ranges::any_of(rows, [status](auto const& row) { return row.status == status; }));
}

TEST_CASE("every line of the JSON Lines is a document with the settings as they were written", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const sweep =
      folder.write("sweep.json", small_sweep(R"("axes": {"strategy": [{"name": "ddp", "static_graph": true}],
    "training.flash_attention": [true], "training.global_batch": [16, 17]})"));
  auto const lines = folder.path("rows.jsonl");
  REQUIRE(run_twinstep({"sweep", sweep, "--out", folder.path("r.sqlite"), "--jsonl", lines}).exit_code == 0);
  auto const text = read_file(lines);
  auto const first = io::parse({"first", text.substr(0, text.find('\n'))});
  auto const second = io::parse({"second", text.substr(text.find('\n') + 1)});
  CHECK(first.at("settings").at("strategy").at("static_graph").boolean());
  CHECK(first.at("settings").at("training.flash_attention").boolean());
  CHECK(first.at("fits").boolean());
  CHECK(first.at("breakdown").elements().front().at("seconds").number() > 0);
  CHECK(second.at("status").string() == "infeasible");
  CHECK_FALSE(second.find("step_time_s"));
}

TEST_CASE("a sweep of a billion points is refused with its size, at once", "[cli][sweep][bad_input]") {
  auto const huge = [](char const* batches) {
    return small_sweep(R"("axes": {"cluster.nodes": {"from": 1, "to": 1000000, "step": 1},
                                   "training.micro_batch": {"from": 1, "to": )" +
                       std::string{batches} + R"(, "step": 1}})");
  };
  CHECK_THAT(refusal(huge("1000")), Contains("found 1000000000 points, more than the 1000000 of --max-points") &&
                                        Contains("or allow so many with --max-points 1000000000\n"));
  // No more than 10^15 may be allowed: that is no way out then.
  CHECK_THAT(refusal(huge("100000000000")),
             Contains("found at least 1000000000000000 points") && Contains("leave values out\n"));
}

TEST_CASE("what is wrong with a sweep is said in one line, and no file is made", "[cli][sweep][bad_input]") {
  CHECK_THAT(refusal(small_sweep(R"("axes": {})")), Contains("/axes: found no axis, expected at least one"));
  CHECK_THAT(refusal(R"({"base": "nowhere.json", "axes": {"cluster.nodes": [1]}})"),
             Contains("/base: found no file") && Contains("nowhere.json"));
  CHECK_THAT(refusal(small_sweep(R"("axes": {"cluster.nodes": [1, 2]}, "constraints": ["cluster.nodes / 0 > 1"])")),
             Contains("/constraints/0: found a division by zero in cluster.nodes / 0: 0 is 0"));
}

TEST_CASE("options out of range say what they may be", "[cli][sweep][bad_input]") {
  auto const sweep = small_sweep(R"("axes": {"cluster.nodes": [1]})");
  CHECK_THAT(refusal(sweep, {"--out", "x", "--jobs", "0"}),
             Contains("--jobs: found \"0\", expected a whole number from 1 to 1024; see twinstep sweep --help"));
  CHECK_THAT(refusal(sweep, {"--out", "x", "--max-points", "-1"}),
             Contains("--max-points: found \"-1\", expected a whole number from 1 to 1000000000000000; see"));
}

TEST_CASE("a sweep without a place for its results is told of one", "[cli][sweep][bad_input]") {
  CHECK_THAT(
      refusal(small_sweep(R"("axes": {"cluster.nodes": [1]})"), {"--json"}),
      Contains("found a JSON file, expected a results file; to run the sweep name one for its results with --out"));
}

TEST_CASE("what is no sweep is told what it is", "[cli][sweep][bad_input]") {
  CHECK_THAT(refusal(small_scenario()), Contains("found a scenario, expected a sweep; write a file {\"base\": "));
  CHECK_THAT(refusal(small_sweep(R"("points": [{}])")),
             Contains("/points: found points that set nothing, expected at least one setting"));
  CHECK_THAT(refusal(std::string{"SQLite format 3\0", 16}),
             Contains("found results, expected a sweep; give the sweep"));
}

TEST_CASE("a place that cannot be written is refused before anything is computed", "[cli][sweep][bad_input]") {
  auto const sweep = small_sweep(R"("axes": {"cluster.nodes": [1]})");
  CHECK_THAT(refusal(sweep, {"--out", "/proc/results.sqlite"}), Contains("cannot be written"));
  CHECK_THAT(refusal(sweep, {"--out", "/nowhere/results.sqlite"}), Contains("cannot be written"));
  CHECK_THAT(refusal(sweep, {"--out", "/tmp"}), Contains("/tmp: found no regular file"));
  CHECK_THAT(refusal(sweep, {"--out", "/dev/full"}), Contains("/dev/full: found no regular file"));
}

TEST_CASE("an export replaces neither results nor the base nor another export", "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  auto const base = folder.write("base.json", small_scenario());
  auto const sweep = folder.write("sweep.json", R"({"base": "base.json", "axes": {"cluster.nodes": [1]}})");
  auto const out = folder.path("results.sqlite");
  auto const refused = [&](std::vector<std::string> const& options) {
    auto arguments = std::vector<std::string>{"sweep", sweep, "--out", out};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto const outcome = run_twinstep(arguments);
    auto const says = [&](char const* words) { return outcome.err.find(words) != std::string::npos; };
    return outcome.exit_code == 2 && (says("would be replaced") || says("is the same file"));
  };
  auto const csv = folder.path("rows");
  CHECK(refused({"--csv", base}));
  CHECK(refused({"--csv", out}));
  CHECK(refused({"--csv", csv, "--jsonl", csv}));
  CHECK(read_file(base) == small_scenario());
}

TEST_CASE("tasks that srun started without MPI are told how to be one", "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", small_sweep(R"("axes": {"cluster.nodes": [1]})"));
  auto const tail = " TWINSTEP sweep " + sweep + " --out " + folder.path("r.sqlite");
  auto const task = run_shell("SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4" + tail);
  CHECK(task.exit_code == 2);
  CHECK_THAT(task.err, Contains("found task 1 of 4 that srun started without MPI") && Contains("mpirun"));
  // A batch script has the job's variables too, and is one process.
  CHECK(run_shell("SLURM_PROCID=0 SLURM_NTASKS=4" + tail).exit_code == 0);
}

TEST_CASE("a report is made of an export, and refuses lines that say what no row may hold", "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  auto const lines = folder.path("rows.jsonl");
  static_cast<void>(swept(folder, small_sweep(R"("points": [{"cluster.nodes": 1}, {"training.micro_batch": 1}])")));
  REQUIRE(run_twinstep({"sweep", folder.path("results.sqlite"), "--jsonl", lines}).exit_code == 0);
  auto const report = [&](std::string const& text) {
    return run_twinstep({"report", folder.write("rows.jsonl", text), "--out", folder.path("x.html")});
  };
  auto const text = read_file(lines);
  CHECK(report(text).exit_code == 0);
  auto const damaged = report(with(text, "\"step_time_s\": ", "\"step_time_s\": -"));
  CHECK(damaged.exit_code == 2);
  CHECK_THAT(damaged.err,
             Contains("rows.jsonl:1: column \"step_time_s\": found -") && Contains("export the sweep again"));
}

TEST_CASE("the summary of a sweep fits 80 columns, whatever varies", "[cli][sweep]") {
  auto const parts = GENERATE(
      as<std::string>{}, R"("axes": {"cluster.nodes": [1, 2]})",
      R"("axes": {"cluster.nodes": [1, 2], "training.micro_batch": [1]})",
      R"("axes": {"cluster.nodes": [1, 2], "training.micro_batch": [1], "cluster.node.nic": ["400 Gb/s"],
                  "strategy": [{"name": "fsdp2", "recompute": "full", "reshard_after_forward": true}]})",
      R"("axes": {"model": [{"family": "mlp", "name": "a-model-with-a-name-that-takes-more-than-half-a-line-of-text",
                             "widths": [64, 64]}], "cluster.nodes": [1, 2], "training.sequence_length": [null]})");
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", small_sweep(parts));
  auto const outcome = run_twinstep({"sweep", sweep, "--out", "r.sqlite"}, folder.path(""));
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  auto lines = std::istringstream{outcome.out};
  for (auto line = std::string{}; std::getline(lines, line);) CHECK(reports::display_width(line) <= 80);
  CHECK_THAT(outcome.out, Contains("shortest step") && Contains("cluster.nodes") && Contains("peak memory"));
}

TEST_CASE("a sweep of names that would speak to the terminal does not let them", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", small_sweep(R"("axes": {"model.name": ["a\u001b[31m\nb"]})"));
  auto const outcome = run_twinstep({"sweep", sweep, "--out", "r.sqlite", "--csv", "r.csv"}, folder.path(""));
  REQUIRE(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains("a\\x1b[31m\\x0ab"));
  CHECK_THAT(read_file(folder.path("r.csv")), Contains("a\\x1b[31m\\x0ab") && !Contains("\x1b"));
  REQUIRE(run_twinstep({"report", "r.sqlite", "--out", "r.html", "--markdown", "r.md", "--csv", "page.csv"},
                       folder.path(""))
              .exit_code == 0);
  for (auto const* const file : {"r.html", "r.md", "page.csv"}) {
    INFO(file);
    CHECK_THAT(read_file(folder.path(file)), Contains("x1b") && !Contains("\x1b"));
  }
}

TEST_CASE("a sweep of models without sequences counts samples, as simulate does", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const sweep =
      folder.write("sweep.json", small_sweep(R"("axes": {"model": [{"family": "mlp", "widths": [64, 64]}],
                                                   "training.sequence_length": [null]})"));
  auto const outcome = run_twinstep({"sweep", sweep, "--out", folder.path("r.sqlite")});
  INFO(outcome.out << outcome.err);
  CHECK_THAT(outcome.out, Contains("samples/s/GPU"));
  CHECK(outcome.out.find("tokens") == std::string::npos);
}

TEST_CASE("a sweep of which nothing fits says why not", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", small_sweep(R"("axes": {"training.global_batch": [17, "x"]})"));
  auto const outcome = run_twinstep({"sweep", sweep, "--out", folder.path("r.sqlite")});
  CHECK_THAT(outcome.out, Contains("infeasible, first at point 0: ") && Contains("wrong input, first at point 1: "));
}
