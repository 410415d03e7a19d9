#include "validate/records/self_checks.hpp"

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::validate;

namespace {

/// A record as collections of measurements hold it; `rest` are further members.
std::string record_text(std::string const& collective, int ranks, std::string const& rows,
                        std::string const& rest = "") {
  return fmt::format(R"({{"id": "a", "system": "s", "collective": "{}", "ranks": {}, "rows": {}{}}})", collective,
                     ranks, rows, rest);
}

std::vector<CollectiveRecord> read(std::string const& texts) {
  return read_collective_records(io::parse({"records.json", "[" + texts + "]"}));
}

std::vector<std::string> check(std::string const& texts) {
  return check_records(read(texts));
}

/// The one sentence about a record.
std::string the_one(std::string const& text) {
  auto const found = check(text);
  REQUIRE(found.size() == 1);
  return found.front();
}

/// Two nodes of eight GPUs with a switch of 400 GB/s and eight NICs of 50 GB/s.
hardware::Cluster two_nodes() {
  auto cluster = hardware::Cluster{};
  cluster.name = "two";
  cluster.nodes() = 2;
  cluster.node().gpus = 8;
  cluster.node().nics = 8;
  cluster.node().intra = hardware::IntraNode::kNvSwitch;
  cluster.node().gpu_link.value = BytesPerSecond{400e9};
  cluster.node().nic.value = BytesPerSecond{50e9};
  cluster.fabric.port.value = BytesPerSecond{50e9};
  return cluster;
}

std::vector<std::string> check_on_two_nodes(std::string const& text) {
  return check_records(read(text), [](CollectiveRecord const&) { return std::optional{two_nodes()}; });
}

}  // namespace

TEST_CASE("nothing is said of a sound sweep", "[records][self-checks]") {
  // DGX H100, NVIDIA/dgxc-benchmarking nccl/README.md: 1.75 = 2 x 7/8 for 8 ranks.
  CHECK(check(record_text("all_reduce", 8,
                          "[[8, 13.67, 0.0, 0.0], [16, 13.0, 0.0, 0.0], [1048576, 27.01, 38.82, 67.94], "
                          "[17179869184, 62600.0, 274.44, 480.27]]"))
            .empty());
}

TEST_CASE("busbw over algbw betrays the true number of ranks", "[records][self-checks]") {
  // Printed "Rank 143", but 1.98436 = 2 x 127/128: 128 ranks. 144 would make 2 x 143/144 = 1.98611.
  auto const wrong = record_text("all_reduce", 144, "[[1073741824, 2684.4, 400.0, 793.75]]");
  CHECK_THAT(the_one(wrong), Catch::StartsWith("a: says 144 ranks, whose busbw is 1.9861 times algbw") &&
                                 Catch::Contains("it is 1.9844 times: that fits 128 ranks; correct \"ranks\""));
  CHECK(ranks_by_bandwidths(read(wrong).front())->holds(128));
  // 3/4 = (4-1)/4 of an all_gather.
  CHECK_THAT(the_one(record_text("all_gather", 8, "[[1073741824, 5368.709, 200.0, 150.0]]")),
             Catch::Contains("fits 4 ranks"));
  // Above 1 is all_reduce's alone; no number of ranks makes it for an all_gather.
  CHECK_THAT(the_one(record_text("all_gather", 8, "[[1073741824, 5368.709, 200.0, 350.0]]")),
             Catch::Contains("no number of ranks gives: another collective"));
}

TEST_CASE("digits that do not tell the ranks accuse nobody", "[records][self-checks]") {
  // 8.82 / 4.71 = 1.8726, and 16 ranks make 1.875: within the hundredths that the log prints.
  auto const record = record_text("all_reduce", 16, "[[1073741824, 228178.0, 4.71, 8.82]]");
  CHECK(check(record).empty());
  CHECK(ranks_by_bandwidths(read(record).front())->holds(16));
  // Two figures without digits leave everything open.
  CHECK(check(record_text("alltoall", 64, "[[1024, 30.0, 0.03, 0.03]]")).empty());
  // broadcast's factor is 1 for any number of ranks.
  CHECK_FALSE(ranks_by_bandwidths(read(record_text("broadcast", 8, "[[1048576, 10.0, 104.86, 104.86]]")).front()));
}

TEST_CASE("rows of two numbers of ranks are two logs", "[records][self-checks]") {
  // 1.75 is 8 ranks, 1.5 is 4.
  CHECK_THAT(the_one(record_text("all_reduce", 8,
                                 "[[1073741824, 5368.709, 200.0, 350.0], "
                                 "[2147483648, 10737.418, 200.0, 300.0]]")),
             Catch::Contains("fit 8 ranks up to 2 GiB and 4 from there on: two logs seem mixed"));
}

TEST_CASE("columns in a wrong unit are named by the factor", "[records][self-checks]") {
  // 2^30 bytes in 5368.709 us are 200 GB/s.
  auto const of = [](std::string const& row) { return the_one(record_text("broadcast", 8, "[" + row + "]")); };
  CHECK_THAT(of("[1073741824, 5.368709, 200.0, 200.0]"), Catch::Contains("1000 times its algbw: times are in ms"));
  CHECK_THAT(of("[1073741824, 5368.709, 1600.0, 1600.0]"), Catch::Contains("algbw is in Gbit/s"));
  CHECK_THAT(of("[1048576, 5368.709, 200.0, 200.0]"), Catch::Contains("sizes are in KiB"));
  CHECK_THAT(of("[1073741824, 5368.709, 186.2645, 186.2645]"), Catch::Contains("algbw is in GiB/s"));
  CHECK_THAT(of("[268435456, 5368.709, 200.0, 200.0]"), Catch::Contains("elements of 4 bytes"));
  CHECK_THAT(of("[134217728, 5368.709, 200.0, 200.0]"), Catch::Contains("one rank's share"));
  CHECK_THAT(of("[1073741824, 5368.709, 37.0, 37.0]"), Catch::Contains("no usual unit explains it"));
}

TEST_CASE("a row that contradicts itself is named", "[records][self-checks]") {
  // 2^30 B in 2684.3545 us is 400 GB/s.
  CHECK_THAT(the_one(record_text("broadcast", 8,
                                 "[[268435456, 1342.177, 200.0, 200.0], "
                                 "[536870912, 2684.354, 200.0, 200.0], "
                                 "[1073741824, 5368.709, 150.0, 150.0]]")),
             Catch::Contains("says 1 GiB in 5368.7 us, which is 200 GB/s, but algbw 150 GB/s"));
}

TEST_CASE("sizes that stand twice or begin anew are said", "[records][self-checks]") {
  CHECK_THAT(the_one(record_text("reduce", 8, "[[1024, 10], [1024, 10.1], [2048, 11]]")),
             Catch::Contains("lists 1 size twice, first 1 KiB"));
  auto const mixed = check(record_text("reduce", 8, "[[1024, 10], [4096, 11], [2048, 10.5], [8192, 12]]"));
  REQUIRE(mixed.size() == 1);
  CHECK_THAT(mixed.front(), Catch::Contains("goes from 4 KiB back to 2 KiB: two sweeps seem mixed"));
}

TEST_CASE("times that fall, or do not grow, are said", "[records][self-checks]") {
  // Measured: AMD MI300X, two nodes (see the collections of public sweeps).
  auto const falling = "[[524288, 300.0], [1048576, 414.8], [2097152, 318.6]]";
  CHECK_THAT(the_one(record_text("reduce", 16, falling)),
             Catch::Contains("takes less time for more bytes: 414.8 us at 1 MiB to 318.6 us at 2 MiB"));
  CHECK(check(record_text("reduce", 16, falling, R"(, "outlier_sizes": [1048576])")).empty());
  CHECK_THAT(the_one(record_text("reduce", 16, "[[1024, 10.0], [1048576, 10.2], [1073741824, 10.5]]")),
             Catch::Contains("10 us at 1 KiB and 10.5 us at 1 GiB: time does not grow with size"));
}

TEST_CASE("a first size without warm-up is said", "[records][self-checks]") {
  CHECK_THAT(the_one(record_text("reduce", 16, "[[8, 68.52], [16, 24.96], [32, 24.93]]")),
             Catch::Contains("68.52 us at 8 B, then 24.96 us at 16 B: the first size lacks its warm-up"));
}

TEST_CASE("halves of a table that lie apart are said", "[records][self-checks]") {
  auto const rows = "[[1048576, 100], [2097152, 200], [4194304, 400]]";
  auto const half = [](int first, int second, int third) {
    return fmt::format(R"(, "rows_in_place": [[1048576, {}], [2097152, {}], [4194304, {}]])", first, second, third);
  };
  CHECK_THAT(the_one(record_text("reduce", 8, rows, half(130, 260, 520))), Catch::Contains("in place 1.30 times"));
  CHECK(check(record_text("reduce", 8, rows, half(130, 205, 390))).empty());
}

TEST_CASE("all_reduce and reduce_scatter of one system should agree at large sizes", "[records][self-checks]") {
  // 8 ranks, 2^30 bytes. all_reduce: 350 GB/s of bus bandwidth in 1.75 x 2^30 / 350e9 = 5368.7 us; reduce_scatter:
  // 0.875 x 2^30 / 175e9 = 5368.7 us is half of it.
  auto const all_reduce = record_text("all_reduce", 8, "[[1073741824, 5368.709]]");
  auto const found = check(all_reduce + ", " + record_text("reduce_scatter", 8, "[[1073741824, 5368.709]]"));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found.front(),
             Catch::Contains("reaches 175 GB/s") && Catch::Contains("all_reduce on the same 8 ranks 350"));
  CHECK(check(all_reduce + ", " + record_text("reduce_scatter", 8, "[[1073741824, 2684.355]]")).empty());
  CHECK(check(all_reduce + ", " + record_text("reduce_scatter", 4, "[[1073741824, 5368.709]]")).empty());
}

TEST_CASE("bus bandwidth above what the links can carry is said", "[records][self-checks]") {
  // Two nodes: half of an all_reduce's bytes must leave each node and the sum of the others' come back, so that algbw
  // is 8 x 50 GB/s at most by the NICs, which is 750 GB/s of bus bandwidth (1.875 x 400). A GPU sends and
  // receives 1.875 times its bytes over its link of 400 GB/s: 400 GB/s of bus bandwidth.
  auto const of = [](std::string const& kind, double microseconds) {
    return check_on_two_nodes(record_text(kind, 16, fmt::format("[[1073741824, {}]]", microseconds)));
  };
  REQUIRE(of("all_reduce", 4000).size() == 1);  // 1.875 x 268.4 = 503 GB/s
  CHECK_THAT(of("all_reduce", 4000).front(),
             Catch::Contains("reaches 503.3 GB/s") && Catch::Contains("carry 400 at most"));
  CHECK(of("all_reduce", 5500).empty());  // 366 GB/s
  // alltoall: 8 ranks send half of their bytes to the other node: algbw <= 400 / (8 x 1/2) = 100 GB/s, times 15/16.
  REQUIRE(of("alltoall", 10000).size() == 1);  // 100.7 GB/s
  CHECK_THAT(of("alltoall", 10000).front(), Catch::Contains("carry 93.75 at most"));
  CHECK(of("alltoall", 12000).empty());
}

TEST_CASE("bus bandwidth far below the links is said", "[records][self-checks]") {
  // Two nodes: a ring passes each NIC once, 8 x 50 GB/s.
  auto const slow = check_on_two_nodes(record_text("all_reduce", 16, "[[1073741824, 20000]]"));
  REQUIRE(slow.size() == 1);  // 1.875 x 53.69 = 100.7 GB/s
  CHECK_THAT(slow.front(),
             Catch::Contains("reaches 100.7 GB/s") && Catch::Contains("25 % of the 400 of the node's NICs"));
  CHECK(check_on_two_nodes(record_text("all_reduce", 16, "[[1073741824, 12000]]")).empty());
  // Only one GPU of each node takes part: its slot of 25 GB/s is the limit, and there is no link in the node.
  CHECK(check_records(read(record_text("all_reduce", 2, "[[1073741824, 53687]]")), [](CollectiveRecord const&) {
          auto machine = two_nodes();
          machine.node().gpus = 1;
          machine.node().gpu_link.value = BytesPerSecond{};
          machine.node().pcie.value = BytesPerSecond{25e9};
          return std::optional{machine};
        }).empty());
}

TEST_CASE("a record of another machine than the one named is said", "[records][self-checks]") {
  auto machine = two_nodes();
  machine.library.name = "nccl";
  machine.node().gpu.name = "h100-sxm5-80";
  machine.node().gpu.description = "NVIDIA H100 SXM5 80 GB (HBM3)";
  auto const check_with = [&](std::string const& rest) {
    return check_records(read(record_text("all_reduce", 16, "[[8, 40.0]]", rest)),
                         [&](CollectiveRecord const&) { return std::optional{machine}; });
  };
  CHECK(check_with("").empty());
  CHECK(check_with(R"(, "gpu": "NVIDIA H100 80GB HBM3")").empty());
  CHECK(check_with(R"(, "gpu": null)").empty());
  // Sizes and sockets are no models: both are SXM parts of 80 GB.
  auto const other = check_with(R"(, "gpu": "NVIDIA A100-SXM4-80GB")");
  REQUIRE(other.size() == 1);
  CHECK_THAT(other.front(), Catch::Contains("A100") && Catch::Contains("two has h100-sxm5-80"));
  auto const library = check_with(R"(, "backend": "gloo")");
  REQUIRE(library.size() == 1);
  CHECK_THAT(library.front(), Catch::Contains("with gloo, but two runs nccl"));
}

TEST_CASE("times that cannot be are refused where they stand", "[records][self-checks]") {
  for (auto const* const time : {"0", "-3.5"})
    CHECK_THROWS_WITH(read(record_text("reduce", 8, fmt::format("[[1024, {}]]", time))),
                      Catch::Contains("/0/rows/0/1: found ") && Catch::Contains("expected a time above zero"));
  CHECK_THROWS_AS(read(record_text("reduce", 8, "[[1024, NaN]]")), InputError);
}

TEST_CASE("rates and counts that no machine has are refused as such times are", "[records]") {
  CHECK_NOTHROW(read(record_text("all_reduce", 8, "[[1024, 20, 0.05, 0.09], [2048, 20, 0, null]]")));
  CHECK_THROWS_WITH(read(record_text("all_reduce", 8, "[[1024, 20, -5, 0.09]]")),
                    Catch::Contains("/0/rows/0/2: found -5 GB/s, expected 0 to"));
  CHECK_THROWS_WITH(read(record_text("all_reduce", 8, "[[1024, 20, 0.05, 1e300]]")),
                    Catch::Contains("/0/rows/0/3: found 1e+300 GB/s"));
  CHECK_THROWS_WITH(read(record_text("all_reduce", 2'000'000'000, "[[1024, 20]]")),
                    Catch::Contains("/0/ranks: found 2000000000 ranks, expected at most"));
}
