#include "validate/launch/launch.hpp"

#include <map>
#include <thread>

#include "sim/base/input_error.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::launch;

namespace {

Launch launch_of(std::map<std::string, std::string> const& variables) {
  return read_launch([&](std::string const& name) {
    auto const found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  });
}

}  // namespace

TEST_CASE("launchers are known by their variables", "[measure][launch]") {
  CHECK(launch_of({}).processes == 1);
  auto const mpi = launch_of({{"OMPI_COMM_WORLD_RANK", "5"},
                              {"OMPI_COMM_WORLD_SIZE", "16"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"SLURM_PROCID", "0"},
                              {"PMIX_NAMESPACE", "prte-7@1"}});
  CHECK(mpi.process == 5);
  CHECK(mpi.processes == 16);
  CHECK(mpi.local_process == 1);
  CHECK(meeting_file(mpi) == ".twinstep-meeting-prte_7_1");
  CHECK(launch_of({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "1"}}).process == 1);
  CHECK(launch_of({{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "3"}}).local_process == 3);
}

TEST_CASE("processes meet where their launcher or their user says", "[measure][launch]") {
  auto variables = std::map<std::string, std::string>{{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}};
  CHECK(launch_of(variables).meeting_place.empty());  // on several hosts nobody has said where
  variables["LOCAL_WORLD_SIZE"] = "4";
  CHECK(launch_of(variables).meeting_place == "127.0.0.1:29500");
  variables["MASTER_ADDR"] = "node7";
  variables["MASTER_PORT"] = "1234";
  CHECK(launch_of(variables).meeting_place == "node7:1234");
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";  // the agent listens at 1234
  CHECK(launch_of(variables).meeting_place == "node7:1235");
  variables["TWINSTEP_STORE"] = "/shared/folder";
  CHECK(launch_of(variables).meeting_place == "/shared/folder");
}

TEST_CASE("variables that contradict each other are refused", "[measure][launch]") {
  CHECK_THROWS_WITH(launch_of({{"RANK", "1"}}), Catch::Contains("WORLD_SIZE is not set"));
  CHECK_THROWS_WITH(launch_of({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "0"}}),
                    Catch::Contains("RANK: found 4, expected less than the 4 of WORLD_SIZE"));
  CHECK_THROWS_WITH(launch_of({{"RANK", "x"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "0"}}),
                    Catch::Contains("found \"x\", expected a whole number"));
}

TEST_CASE("process 0 hands its id to the others", "[measure][launch]") {
  auto const folder = tests::Scratch{};
  auto const file = folder.path("meeting");
  auto received = std::vector<char>{};
  auto other = std::thread{[&] { received = exchange_id({.process = 1, .processes = 2}, file, {}); }};
  CHECK(exchange_id({.process = 0, .processes = 2}, file, {'a', '\0', 'b'}).size() == 3);
  other.join();
  CHECK(received == std::vector<char>{'a', '\0', 'b'});
  CHECK_THROWS_AS(exchange_id({.process = 0, .processes = 2}, folder.path("no/such/folder"), {'a'}), InputError);
}
