#include "validate/cuda/collective_benchmark.hpp"

#include <algorithm>
#include <map>
#include <thread>

#include "sim/base/input_error.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_nccl/fake_device.hpp"
#include "validate/cuda/launch.hpp"

using namespace twinstep;
using namespace twinstep::cuda;
using namespace twinstep::literals;
using program::CollectiveKind;
using tests::FakeDevice;

namespace {

std::vector<BenchmarkRow> run(FakeDevice& device, CollectiveKind kind, int world, Bytes smallest, Bytes largest) {
  auto const ranks = Ranks{.world = world, .local_ranks = world};
  device.connect(ranks, {});
  auto rows = std::vector<BenchmarkRow>{};
  run_benchmark(device, ranks,
                {.kind = kind, .smallest = smallest, .largest = largest, .factor = 4, .iterations = 3, .warm_up = 2},
                [&](BenchmarkRow const& row) { rows.push_back(row); });
  return rows;
}

Launch launch_of(std::map<std::string, std::string> const& variables) {
  return read_launch([&](std::string const& name) {
    auto const found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  });
}

}  // namespace

TEST_CASE("every collective is right on data, in and out of place, for any number of ranks", "[measure][benchmark]") {
  for (auto const name : all_names<CollectiveKind>())
    for (auto const world : {1, 2, 3, 5, 8}) {
      INFO(name << " on " << world);
      auto device = FakeDevice{world};
      auto const kind = *find_enum<CollectiveKind>(name);
      auto const rows = run(device, kind, world, 256_B, 4_KiB);
      REQUIRE(rows.size() == 3);  // 256, 1024, 4096
      for (auto const& row : rows) {
        CHECK(row.out_of_place->wrong == 0);
        CHECK(row.in_place.has_value() == (kind != CollectiveKind::kAllToAll));
        if (row.in_place) CHECK(row.in_place->wrong == 0);
      }
      CHECK(device.live_allocations() == 0);
    }
}

TEST_CASE("a wrong element is counted at the rank that received it", "[measure][benchmark]") {
  for (auto const name : all_names<CollectiveKind>()) {
    INFO(name);
    auto device = FakeDevice{4};
    device.break_rank(0);  // the root, where there is one
    for (auto const& row : run(device, *find_enum<CollectiveKind>(name), 4, 1_KiB, 1_KiB)) {
      CHECK(row.out_of_place->wrong == 1);
      if (row.in_place) CHECK(row.in_place->wrong == 1);
    }
  }
}

TEST_CASE("times are the mean over the iterations, without warm-up and check", "[measure][benchmark]") {
  auto device = FakeDevice{2};
  auto const rows = run(device, CollectiveKind::kAllReduce, 2, 1_KiB, 1_KiB);
  REQUIRE(rows.size() == 1);
  // The fake takes 10 us + 1 ns a byte for each: 10 + 1.024 us.
  CHECK(rows[0].out_of_place->time == Duration{11'024'000});
  CHECK(rows[0].size == 1_KiB);
  CHECK(rows[0].count == 256);
  // Each half: 2 to warm up, 3 that count, 1 to check.
  CHECK(device.collectives() == 12);
}

TEST_CASE("sizes are cut to shares of 16 bytes, and those too small are left out", "[measure][benchmark]") {
  auto device = FakeDevice{3};
  // 64 B: 16 elements, 5 a rank, 4 of them whole shares: 3 x 16 B. 16 B: 1 a rank, none.
  auto const rows = run(device, CollectiveKind::kAllGather, 3, 16_B, 64_B);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].size == 48_B);
  CHECK(rows[0].count == 4);
}

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
