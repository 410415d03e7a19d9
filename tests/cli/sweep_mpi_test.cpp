#include <fmt/format.h>

#include "explore/sweep/results.hpp"
#include "tests/cli/sweep_support.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

using Catch::Contains;

/// A sweep by several processes of this machine.
Outcome run_together(int processes, std::string const& arguments, std::string const& variables = {}) {
  return run_shell(fmt::format("{} timeout 300 {} --allow-run-as-root --oversubscribe -n {} TWINSTEP sweep {}",
                               variables, TWINSTEP_MPIRUN, processes, arguments));
}

}  // namespace

TEST_CASE("results are the same whatever the number of processes", "[cli][sweep][mpi]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", sweep_of_everything());
  auto const alone = folder.path("alone.csv");
  REQUIRE(run_twinstep({"sweep", sweep, "--out", folder.path("alone.sqlite"), "--csv", alone, "--jsonl", alone + "l"})
              .exit_code == 0);
  for (auto const processes : {1, 2, 4}) {
    INFO(processes);
    auto const name = folder.path(std::to_string(processes));
    auto const outcome =
        run_together(processes, fmt::format("{0} --out {1}.sqlite --csv {1}.csv --jsonl {1}.csvl --json", sweep, name));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Contains(fmt::format("\"processes\": {}", processes)));
    CHECK(read_file(name + ".csv") == read_file(alone));
    CHECK(read_file(name + ".csvl") == read_file(alone + "l"));
  }
}

TEST_CASE("mpirun inside a Slurm job is one sweep", "[cli][sweep][mpi]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", small_sweep(R"("axes": {"cluster.nodes": [1, 2, 3]})"));
  auto const out = folder.path("r.sqlite");
  auto const outcome = run_together(2, sweep + " --out " + out + " --json",
                                    "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0");
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains("\"processes\": 2"));
  CHECK(explore::sweep::read_results(out).rows.size() == 3);
}

TEST_CASE("what is wrong is said by one process, and all end", "[cli][sweep][mpi]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", small_sweep(R"("axes": {"cluster.nods": [1]})"));
  auto const outcome = run_together(2, sweep + " --out " + folder.path("r.sqlite"));
  CHECK(outcome.exit_code == 2);
  auto const first = outcome.err.find("found the unknown key");
  REQUIRE(first != std::string::npos);
  CHECK(outcome.err.find("found the unknown key", first + 1) == std::string::npos);
}

TEST_CASE("a process that is killed ends the others, and the sweep is resumed", "[cli][sweep][mpi]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", sweep_of_everything());
  auto const alone = folder.path("alone.csv");
  REQUIRE(run_twinstep({"sweep", sweep, "--out", folder.path("alone.sqlite"), "--csv", alone}).exit_code == 0);
  auto const out = folder.path("r.sqlite");
  // Rank 1 is killed by its own hand after half a second, wherever it is then.
  auto const killed = run_shell(fmt::format(
      "timeout 60 {} --allow-run-as-root --oversubscribe -n 2 sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then "
      "timeout -s KILL 0.5 \"$0\" \"$@\"; else exec \"$0\" \"$@\"; fi' TWINSTEP sweep {} --out {} --resume",
      TWINSTEP_MPIRUN, sweep, out));
  CHECK(killed.exit_code != 124);  // what timeout says of who hangs
  auto const resumed = run_together(2, fmt::format("{} --out {} --resume --csv {}", sweep, out, folder.path("r.csv")));
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK(read_file(folder.path("r.csv")) == read_file(alone));
}

TEST_CASE("a process that cannot read the sweep says so and ends the others", "[cli][sweep][mpi]") {
  auto const folder = Scratch{};
  auto const sweep = folder.write("sweep.json", sweep_of_everything());
  auto const outcome = run_shell(fmt::format(
      "timeout 60 {} --allow-run-as-root --oversubscribe -n 2 sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then "
      "exec \"$0\" sweep nowhere.json --out x; else exec \"$0\" \"$@\"; fi' TWINSTEP sweep {} --out {}",
      TWINSTEP_MPIRUN, sweep, folder.path("r.sqlite")));
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, Contains("nowhere.json"));
}
