#include "reports/render/nccl_tests_table.hpp"

#include <optional>

#include "sim/program/bus_bandwidth.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::reports;

namespace {

CollectiveTiming timing(Duration time, double algorithm, double bus, std::optional<std::int64_t> wrong = 0) {
  return {time, BytesPerSecond{algorithm * 1e9}, BytesPerSecond{bus * 1e9}, wrong};
}

}  // namespace

TEST_CASE("the table is nccl-tests' own, character for character", "[reports][nccl-tests]") {
  // Rows as rccl-tests and nccl-tests 2.13 print them; the last with one half, and nobody looked for wrong elements.
  auto const rows = std::vector<CollectiveRow>{
      {8_B, 2, "float", "sum", {}, timing(Duration{19'280'000}, 0, 0), timing(Duration{17'240'000}, 0, 0)},
      {Bytes{17179869184},
       4294967296,
       "float",
       "sum",
       {},
       timing(90115_us, 190.64, 357.46),
       timing(90127_us, 190.62, 357.41)},
      {2_MiB, 524288, "half", "none", 0, timing(Duration{149'900'000}, 111.92, 195.85, std::nullopt), {}}};
  CHECK(
      nccl_tests_table(rows) ==
      "#                                                              out-of-place                       in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
      "           8             2     float     sum      -1    19.28    0.00    0.00      0    17.24    0.00    0.00   "
      "   0\n"
      " 17179869184    4294967296     float     sum      -1    90115  190.64  357.46      0    90127  190.62  357.41   "
      "   0\n"
      "     2097152        524288      half    none       0    149.9  111.92  195.85    N/A\n");
  // (0 + 0 + 357.46 + 357.41 + 195.85) / 5 = 182.144
  CHECK(nccl_tests_average(rows) == "# Avg bus bandwidth    : 182.144\n");
}

TEST_CASE("bus bandwidth is algorithm bandwidth times the collective's factor", "[reports][nccl-tests]") {
  CHECK(program::bus_factor(CollectiveKind::kAllReduce, 8) == 1.75);      // 2 x 7/8
  CHECK(program::bus_factor(CollectiveKind::kReduceScatter, 4) == 0.75);  // 3/4
  CHECK(program::bus_factor(CollectiveKind::kBroadcast, 8) == 1);
  CHECK(program::bus_factor(CollectiveKind::kAllReduce, 1) == 0);
  // 1 GB in 10 ms is 100 GB/s.
  auto const rates = program::collective_rates(CollectiveKind::kAllGather, 2, 1_GB, 10_ms);
  CHECK(rates.algorithm.count() == Approx(100e9));
  CHECK(rates.bus.count() == Approx(50e9));
}
