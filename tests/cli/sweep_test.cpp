#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "app/sweep/results.hpp"
#include "sim/io/document.hpp"
#include "sim/io/schema.hpp"
#include "tests/cli/sweep_support.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using app::sweep::read_results;
using app::sweep::Status;

namespace {

using Catch::Contains;

/// Runs a sweep into a results file of the folder and reads it.
app::sweep::Results swept(Scratch const& folder, std::string const& sweep) {
  auto const out = folder.path("results.sqlite");
  auto const outcome = run_twinstep({"sweep", folder.write("sweep.json", sweep), "--out", out});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return read_results(out);
}

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
  using Cells = std::vector<app::sweep::Cell>;
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
    auto const outcome = run_twinstep({"sweep", example, "--out", folder.path("r.sqlite"), "--skip-allocator"});
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

TEST_CASE("a base in a file with several strategies has them as its last axis", "[cli][sweep]") {
  auto const folder = Scratch{};
  folder.write("scenario.json",
               with(small_scenario(), R"({"name": "zero-3"})", R"([{"name": "ddp"}, {"name": "zero-3"}])"));
  auto const results = swept(folder, R"({"base": "scenario.json", "axes": {"cluster.nodes": [1, 2]}})");
  CHECK(results.manifest.paths == std::vector<std::string>{"cluster.nodes", "strategy"});
  REQUIRE(results.rows.size() == 4);
  CHECK(results.rows[1].settings[1] == app::sweep::Cell{"{\"name\": \"zero-3\"}"});
}

TEST_CASE("exports are the same whatever the number of threads, from the run and from the file", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", long_sweep());
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
  CHECK(std::ranges::count(read_file(folder.path("one.csv")), '\n') == 301);
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

TEST_CASE("killed at any moment and resumed, a sweep loses and doubles no row", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", long_sweep());
  auto const undisturbed = folder.path("undisturbed.csv");
  REQUIRE(run_twinstep({"sweep", sweep, "--out", folder.path("a.sqlite"), "--csv", undisturbed}).exit_code == 0);
  auto random = std::mt19937{20261130};
  for (auto round = 0; round < 3; ++round) {
    auto const name = "killed" + std::to_string(round);
    auto const arguments = std::vector<std::string>{"sweep", sweep, "--out", folder.path(name + ".sqlite"), "--resume"};
    for (auto kills = 0; kills < 6; ++kills) {
      auto const process = start_twinstep(arguments, folder.path("err"));
      std::this_thread::sleep_for(std::chrono::milliseconds{std::uniform_int_distribution{1, 400}(random)});
      kill(process, SIGKILL);
      wait_for(process);
    }
    auto last = arguments;
    last.insert(last.end(), {"--csv", folder.path(name + ".csv")});
    auto const outcome = run_twinstep(last);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(read_file(folder.path(name + ".csv")) == read_file(undisturbed));
  }
}

TEST_CASE("interrupted, a sweep keeps what it has and says how to go on", "[cli][sweep]") {
  auto const folder = Scratch{};
  auto const sweep =
      folder.write("sweep.json", small_sweep(R"("axes": {"cluster.nodes": {"from": 1, "to": 100000, "step": 1}})"));
  auto const out = folder.path("results.sqlite");
  auto const process = start_twinstep({"sweep", sweep, "--out", out}, folder.path("err"));
  while (read_file(out).empty()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  std::this_thread::sleep_for(std::chrono::milliseconds{300});
  kill(process, SIGINT);
  CHECK(wait_for(process) == 130);
  CHECK_THAT(read_file(folder.path("err")),
             Contains("interrupted; what was answered is in") && Contains("go on with the same command and --resume"));
  auto const results = read_results(out);
  CHECK_FALSE(results.is_finished);
  for (std::size_t i = 0; i < results.rows.size(); ++i) CHECK(results.rows[i].point == static_cast<std::int64_t>(i));
}

TEST_CASE("a sweep of a billion points is refused with its size, at once", "[cli][sweep][bad_input]") {
  auto const huge = small_sweep(R"("axes": {"cluster.nodes": {"from": 1, "to": 1000000, "step": 1},
                                            "training.micro_batch": {"from": 1, "to": 1000, "step": 1}})");
  CHECK_THAT(refusal(huge), Contains("found 1000000000 points, more than the 1000000 of --max-points") &&
                                Contains("allow so many with --max-points 1000000000"));
}

TEST_CASE("what is wrong with a sweep is said in one line, and no file is made", "[cli][sweep][bad_input]") {
  struct Case {
    std::string parts;
    std::string message;
  };
  auto const each = GENERATE(values<Case>({
      {R"("axes": {})", "/axes: found no axis, expected at least one"},
      {R"("comment": "x")", "found nothing that varies, expected \"axes\" or \"points\""},
      {R"("points": [])", "/points: found no point"},
      {R"("axes": {"cluster.nodes": []})", "/axes/cluster.nodes: found no value"},
      {R"("axes": {"cluster.nodes": 4})", "found 4, expected an array in brackets"},
      {R"("axes": {"clutser.nodes": [4]})",
       "found the path \"clutser.nodes\", which no scenario has; did you mean \"cluster\"?"},
      {R"("axes": {"cluster.nods": [4]})", "/base/cluster: found the unknown key \"nods\"; did you mean"},
      {R"("axes": {"cluster.nodes": [1, 2], "training.micro": [1]})", "found the unknown key \"micro\""},
      {R"("axes": {"cluster..nodes": [1]})", "found an empty name in the path"},
      {R"("axes": {"cluster.nodes": [1]}, "points": [{"cluster.nodes": 2}])", "as an axis and in \"points\""},
      {R"("axes": {"cluster.nodes": {"from": 1, "to": 4}})", "expected \"factor\" or \"step\""},
      {R"("axes": {"cluster.nodes": {"from": 1, "to": 4, "factor": 1}})", "found a range that does not grow"},
      {R"("axes": {"cluster.nodes": {"from": 4, "to": 1, "step": 1}})", "found an end below the beginning"},
      {R"("axes": {"cluster.node.nic": {"from": "1 Gb/s", "to": "4 GB/s", "factor": 2}})",
       "found the unit \"GB/s\", and \"from\" has \"Gb/s\""},
      {R"("axes": {"cluster.nodes": [1]}, "constraints": ["cluster.nodes"])",
       "found the end in the constraint, expected a comparison"},
      {R"("axes": {"cluster.nodes": [1]}, "constraints": ["cluster.nods < 2"])",
       "found \"cluster.nods\", which neither the base nor an axis says"},
      {R"("axes": {"strategy": [{"name": "ddp"}, {"name": "fsdp2"}], "strategy.name": ["zero-3"]})",
       "found \"strategy.name\" beside values of \"strategy\" that say it too"},
      {R"("axis": {"cluster.nodes": [1]})", "found the unknown key \"axis\"; did you mean \"axes\"?"},
  }));
  CHECK_THAT(refusal(small_sweep(each.parts)), Contains(each.message));
}

TEST_CASE("a base that is not there is named with its place", "[cli][sweep][bad_input]") {
  CHECK_THAT(refusal(R"({"base": "nowhere.json", "axes": {"cluster.nodes": [1]}})"),
             Contains("/base: found no file") && Contains("nowhere.json"));
}

TEST_CASE("results are not replaced, and those of another sweep not mixed with", "[cli][sweep][bad_input]") {
  auto const folder = Scratch{};
  auto const out = folder.path("results.sqlite");
  static_cast<void>(swept(folder, small_sweep(R"("axes": {"cluster.nodes": [1, 2]})")));
  auto const before = read_file(out);
  auto const again = run_twinstep({"sweep", folder.path("sweep.json"), "--out", out});
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, Contains("is there already; go on with it by --resume"));
  auto const resumed = run_twinstep({"sweep", folder.path("sweep.json"), "--out", out, "--resume", "--json"});
  CHECK(resumed.exit_code == 0);
  CHECK(io::parse({"", resumed.out}).at("asked").integer() == 0);
  for (auto const& [file, options] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {folder.write("other.json", small_sweep(R"("axes": {"cluster.nodes": [1, 2, 4]})")), {}},
           {folder.path("sweep.json"), {"--fidelity", "closed"}},
           {folder.path("sweep.json"), {"--skip-allocator"}}}) {
    auto arguments = std::vector<std::string>{"sweep", file, "--out", out, "--resume"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto const outcome = run_twinstep(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Contains("found results of another sweep"));
  }
  CHECK(read_results(out).rows.size() == 2);
}

TEST_CASE("a place that cannot be written is refused before anything is computed", "[cli][sweep][bad_input]") {
  auto const sweep = small_sweep(R"("axes": {"cluster.nodes": [1]})");
  CHECK_THAT(refusal(sweep, {"--out", "/proc/results.sqlite"}), Contains("cannot be written"));
  CHECK_THAT(refusal(sweep, {"--out", "/nowhere/results.sqlite"}), Contains("cannot be written"));
  CHECK_THAT(refusal(sweep, {"--out", "/tmp"}), Contains("/tmp: found no regular file"));
  CHECK_THAT(refusal(sweep, {"--csv", "/tmp/x.csv"}), Contains("file is not a database"));
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
    return outcome.exit_code == 2 && outcome.err.find("would be replaced") != std::string::npos;
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

TEST_CASE("what the sweep schema allows is what the program takes", "[cli][sweep][schema]") {
  struct Case {
    std::string parts;
    bool is_right;
  };
  auto const each = GENERATE(values<Case>({
      {R"("axes": {"cluster.nodes": [1]})", true},
      {R"("points": [{"cluster.nodes": 1}], "constraints": ["cluster.nodes < 3"])", true},
      {R"("axes": {"cluster.node.nic": {"from": "100 Gb/s", "to": "200 Gb/s", "factor": 2}}, "comment": "x")", true},
      {R"("axes": {"cluster.nodes": {"from": 1, "to": 2, "step": 1}})", true},
      {R"("axes": {"nodes": [1]})", false},
      {R"("axes": {"cluster.nodes": 1})", false},
      {R"("axes": {"cluster.nodes": {"from": 1, "to": 2}})", false},
      {R"("axes": {"cluster.nodes": [1]}, "constraint": [])", false},
      {R"("constraints": [])", false},
  }));
  auto const text = small_sweep(each.parts);
  INFO(text);
  auto const folder = Scratch{};
  auto const schema = read_file(in_repository("app/schema/sweep.schema.json"));
  CHECK(io::schema_violations(text, schema).empty() == each.is_right);
  auto const outcome = run_twinstep({"sweep", folder.write("sweep.json", text), "--out", folder.path("r.sqlite")});
  CHECK(outcome.exit_code == (each.is_right ? 0 : 2));
}
