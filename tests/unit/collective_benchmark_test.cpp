#include "validate/cuda/collective_benchmark.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/fake_cuda/fake_device.hpp"

using namespace twinstep;
using namespace twinstep::cuda;
using namespace twinstep::literals;
using tests::FakeDevice;

namespace {

std::vector<BenchmarkRow> run(FakeDevice& device, CollectiveKind kind, int world, Bytes smallest, Bytes largest) {
  auto const connection = connect(device, {.world = world, .local_ranks = world}, {});
  auto rows = std::vector<BenchmarkRow>{};
  run_benchmark(device, connection,
                {.kind = kind, .smallest = smallest, .largest = largest, .factor = 4, .iterations = 3, .warm_up = 2},
                [&](BenchmarkRow const& row) { rows.push_back(row); });
  return rows;
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
        CHECK(row.out_of_place.wrong == 0);
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
    device.break_device(0);  // of the root, where there is one
    for (auto const& row : run(device, *find_enum<CollectiveKind>(name), 4, 1_KiB, 1_KiB)) {
      CHECK(row.out_of_place.wrong == 1);
      if (row.in_place) CHECK(row.in_place->wrong == 1);
    }
  }
}

TEST_CASE("times are the mean over the iterations, without warm-up and check", "[measure][benchmark]") {
  auto device = FakeDevice{2};
  auto const rows = run(device, CollectiveKind::kAllReduce, 2, 1_KiB, 1_KiB);
  REQUIRE(rows.size() == 1);
  // The fake takes 10 us + 1 ns a byte for each: 10 + 1.024 us.
  CHECK(rows[0].out_of_place.time == Duration{11'024'000});
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
