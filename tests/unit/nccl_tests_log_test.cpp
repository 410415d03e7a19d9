
#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/texts.hpp"
#include "validate/records/nccl_tests.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::records;
using tests::any_contains;

namespace {

std::vector<CollectiveLog> log_fixture() {
  return read_nccl_tests("nccl_tests.log", io::read_text(TWINSTEP_FIXTURES "/nccl_tests.log"));
}

/// The one table of `text`.
CollectiveLog read_one_log(std::string const& text) {
  auto const logs = read_nccl_tests("a.log", text);
  REQUIRE(logs.size() == 1);
  return logs.front();
}

constexpr auto kHeader =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n";

}  // namespace

TEST_CASE("a log names its collective, ranks, GPUs, library and settings", "[records][nccl-tests]") {
  auto const logs = log_fixture();
  REQUIRE(logs.size() == 2);
  auto const& log = logs.front();
  CHECK(log.collective == CollectiveKind::kAllReduce);
  CHECK(log.ranks == 4);
  CHECK(log.hosts() == std::vector<std::string>{"node0", "node1"});
  CHECK(log.device_names() == std::vector<std::string>{"NVIDIA H100 80GB HBM3"});
  CHECK(log.launcher == hardware::Launcher::kProcessPerGpu);
  CHECK(log.library_version == "2.18.3");
  CHECK(log.environment.at("NCCL_ALGO") == "Ring");
  CHECK(log.environment.at("NCCL_IB_HCA") == "mlx5");  // "… set by environment to mlx5."
  CHECK(log.type == "float");
  CHECK(log.reduction == "sum");
  CHECK(log.average_bus_bandwidth->count() == Approx(12.4575e9));
  CHECK(log.warnings.empty());
}

TEST_CASE("rows survive launchers' prefixes and messages, even in their middle", "[records][nccl-tests]") {
  auto const log = log_fixture().front();
  REQUIRE(log.rows.size() == 4);
  auto const& cut = log.rows.front();  // its times stand on the line after NCCL's message
  CHECK(cut.size == 1_KiB);
  CHECK(cut.count == 256);
  CHECK(cut.out_of_place->time == Duration{28'410'000});
  CHECK(cut.in_place->time == Duration{27'900'000});
  auto const& last = log.rows.back();
  CHECK(last.out_of_place->bus_bandwidth->count() == Approx(42.45e9));
  CHECK(last.out_of_place->wrong == 0);
  CHECK_FALSE(last.in_place->wrong.has_value());  // N/A
}

TEST_CASE("prefixes of launchers and of collectors of logs are looked through", "[records][nccl-tests]") {
  // Open MPI 4 with --tag-output --timestamp-output, PRRTE of Open MPI 5, srun -l, mpiexec -prepend-rank of MPICH,
  // kubectl logs --timestamps.
  for (auto const* const prefix :
       {"[1,0]<stdout>:", "Mon Jan  6 10:00:00 2025[1,0]<stdout>:", "[prterun-node0-7@1,0]<stdout>: ", "0: ", " 12: ",
        "[0] ", "2025-01-06T10:00:00.123456789Z ",
        "2025-01-06T10:00:00Z 0: ", "2025-01-06 10:00:00,123 [1,0]<stdout>:"}) {
    CAPTURE(prefix);
    auto text = std::string{};
    for (auto const* const line :
         {"# all_reduce_perf", "#  Rank  0 Group  0 Pid 1 on node0 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3",
          "#  Rank  1 Group  0 Pid 1 on node0 device  1 [0000:2b:00] NVIDIA H100 80GB HBM3",
          "#       size         count      type   redop    root     time   algbw   busbw #wrong",
          "  1024   256  float  sum  -1  10.00  0.10  0.10  0", "# Avg bus bandwidth    : 0.1"})
      text += prefix + std::string{line} + "\n";
    auto const log = read_one_log(text);
    CHECK(log.ranks == 2);
    CHECK(log.rows.size() == 1);
    CHECK(log.average_bus_bandwidth.has_value());
    CHECK(log.warnings.empty());
  }
}

TEST_CASE("a log without a list of ranks is asked for its command, then for its columns", "[records][nccl-tests]") {
  auto const table = std::string{
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
      "  1073741824  268435456  float  sum  -1  9500.0  113.03  113.03  0\n"
      "# Avg bus bandwidth    : 113.03\n"};
  auto const ranks = [&](std::string const& command) { return read_one_log(command + "\n" + table).ranks; };
  CHECK(ranks("mpirun -np 16 -N 8 ./build/all_reduce_perf -b 1G -e 1G") == 16);
  CHECK(ranks("mpirun --map-by ppr:8:node -H a,b ./all_reduce_perf -b 1G") == 16);
  CHECK(ranks("mpirun --host a:8,b:8 ./all_reduce_perf -b 1G") == 16);  // a rank a slot
  CHECK(ranks("mpirun -H a,b ./all_reduce_perf -b 1G -g 8") == 16);
  CHECK(ranks("mpiexec -n 16 -ppn 8 ./all_reduce_perf -b 1G") == 16);
  CHECK(ranks("jsrun -n 2 -a 8 ./all_reduce_perf -b 1G") == 16);
  CHECK(ranks("srun -N 2 --ntasks-per-node 8 ./all_reduce_perf -b 1G") == 16);
  CHECK(read_one_log("mpirun -np 16 -N 8 ./all_reduce_perf\n" + table).command->nodes == 2);
  CHECK(read_one_log("mpirun -H a:8,b:8 ./all_reduce_perf\n" + table).command->nodes == 2);

  // busbw = algbw means 2(n-1)/n = 1: two ranks, and the digits leave no other number.
  auto const by_columns = read_one_log("# all_reduce_perf\n" + table);
  CHECK(by_columns.ranks == 2);
  CHECK(any_contains(by_columns.warnings, "2, by busbw over algbw"));
}

TEST_CASE("UTF-16 without a byte order mark is read", "[records][nccl-tests]") {
  auto const text = std::string{
      "# all_reduce_perf\n#  Rank  0 Group  0 Pid 1 on n device  0 [0x1] GPU\n"
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
      "  1024  256  float  sum  -1  10.00  0.10  0.10  0\n"};
  for (auto const is_little : {true, false}) {
    auto wide = std::string{};
    for (auto const c : text) wide += is_little ? std::string{c, '\0'} : std::string{'\0', c};
    CHECK(read_one_log(wide).rows.size() == 1);
  }
}

TEST_CASE("columns of iterations and times of day beside the rows are looked over", "[records][nccl-tests]") {
  // NVIDIA/nccl-tests src/util.cu, writeResultHeader with per-iteration report and timestamps.
  auto const log = read_one_log(
      "# Collective test starting: all_gather_perf\n"
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong  i_min  i_max  i_p99  i_cv%  time  algbw  busbw  "
      "#wrong "
      " i_min  i_max  i_p99  i_cv% timestamp\n"
      "  1024   64  float  none  -1  10.00  0.10  0.09  0  9.00  11.00  10.90  3.00  12.00  0.09  0.08  N/A  9.50  "
      "13.00 "
      " 12.90  4.00  2025-01-06 10:00:00\n"
      "# Avg bus bandwidth    : 0.1\n");
  CHECK(log.rows.at(0).out_of_place->time == 10_us);
  CHECK(log.rows.at(0).in_place->time == 12_us);
}

TEST_CASE("a second run in the file is a log of its own, with one process for its GPUs", "[records][nccl-tests]") {
  auto const log = log_fixture().back();
  CHECK(log.collective == CollectiveKind::kAllToAll);
  CHECK(log.ranks == 2);
  CHECK(log.launcher == hardware::Launcher::kOneProcess);
  CHECK(log.environment.empty());
  CHECK(log.rows.size() == 1);
  CHECK(any_contains(log.warnings, ":39: the row of 16777216 bytes is cut off; it is left out"));
  CHECK(any_contains(log.warnings, "found no average"));
}

TEST_CASE("columns are read by their titles, as old versions order them", "[records][nccl-tests]") {
  // nccl-tests 2.0: no root, and the largest error instead of a count of wrong elements.
  auto const old = read_one_log(
      "./all_reduce_perf -g 2\n"
      "#       size         count    type   redop     time   algbw   busbw   error     time   algbw   busbw   error\n"
      "     1048576        262144   float     sum    50.00   20.97   20.97   1e-06    49.00   21.40   21.40   1e-06\n"
      "# Avg bus bandwidth    : 21.2\n");
  CHECK(old.rows.at(0).in_place->time == 49_us);
  CHECK_FALSE(old.rows.at(0).out_of_place->wrong.has_value());
  // NCCL 1: other words.
  auto const oldest = read_one_log(
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
      "     1048576        262144   float     sum    0.050  20.97  20.97    0e+00    0.049  21.40  21.40    0e+00\n");
  CHECK(oldest.rows.at(0).count == 262144);
  CHECK(oldest.reduction == "sum");
}

TEST_CASE("a table may have one half, times with exponents, and no header", "[records][nccl-tests]") {
  auto const one_half = read_one_log(
      "# sendrecv_perf\n#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "  8589934592    2147483648     float    none      -1  1.2e+06    7.16    7.16      0\n");
  CHECK(one_half.collective == validate::kSendReceive);
  CHECK(one_half.rows.at(0).out_of_place->time == Duration{1'200'000'000'000});
  CHECK_FALSE(one_half.rows.at(0).in_place.has_value());
  auto const bare = read_one_log("  1024   256  float  sum  -1  10.00  0.10  0.18  0  11.00  0.09  0.16  0\n");
  CHECK(bare.rows.at(0).in_place->time == 11_us);
  CHECK(any_contains(bare.warnings, "does not say which collective"));
  CHECK(any_contains(bare.warnings, "does not say how many ranks"));
}

TEST_CASE("ranks may be told where a log does not say them, and only there", "[records][nccl-tests]") {
  auto const table = std::string{kHeader} + "  1024   256  float  sum  -1  10.00  0.10  0.10  0\n";
  auto const told = read_nccl_tests("a.log", "# broadcast_perf\n" + table, 16).front();
  CHECK(told.ranks == 16);
  CHECK(!any_contains(told.warnings, "how many ranks"));
  auto const says = read_nccl_tests("a.log", "mpirun -np 8 ./broadcast_perf\n" + table, 16).front();
  CHECK(says.ranks == 8);
  CHECK(any_contains(says.warnings, "says itself that 8 ranks took part: not the 16"));
}

TEST_CASE("element types and reductions of one table become logs of their own", "[records][nccl-tests]") {
  auto const logs = read_nccl_tests("a.log", std::string{"# reduce_scatter_perf\n"} + kHeader +
                                                 "  1024  256  float  sum  -1  10.0  0.1  0.1  0  10.0  0.1  0.1  0\n"
                                                 "  1024  512  half   sum  -1  10.0  0.1  0.1  0  10.0  0.1  0.1  0\n"
                                                 "  1024  512  half   max  -1  10.0  0.1  0.1  0  10.0  0.1  0.1  0\n");
  REQUIRE(logs.size() == 3);
  for (auto const& log : logs) CHECK(log.collective == CollectiveKind::kReduceScatter);
  CHECK(logs[2].type == "half");
  CHECK(logs[2].reduction == "max");
}

TEST_CASE("rccl-tests are told from nccl-tests", "[records][nccl-tests]") {
  auto const log =
      read_one_log(std::string{"rccl-tests: Version develop:448c4c7\n# Using devices\n"
                               "#   Rank  0 Pid 3844613 on     gpu-53 device  0 [0000:05:00.0] AMD Instinct MI300X\n"
                               "RCCL version : 2.22.3-HEAD:7d8d67c\n"} +
                   kHeader + "  1024  256  float  sum  -1  10.0  0.1  0.1  0  10.0  0.1  0.1  0\n");
  CHECK(log.is_rccl);
  CHECK(log.library_version == "2.22.3");
  CHECK(log.device_names().at(0) == "AMD Instinct MI300X");
}

TEST_CASE("a row whose time is no number is left out", "[records][nccl-tests]") {
  auto const log = read_one_log(std::string{"# all_gather_perf\n"} + kHeader +
                                "  1024  256  float  none  -1  10.0  0.1  0.1  0  10.0  0.1  0.1  0\n"
                                "  2048  512  float  none  -1  -nan  0.1  0.1  0  10.0  0.1  0.1  0\n"
                                "  4096  512  float  none  -1  -3.0  0.1  0.1  0  10.0  0.1  0.1  0\n");
  CHECK(log.rows.size() == 1);
  CHECK(any_contains(log.warnings, "the row of 2048 bytes has a time that is no number; it is left out"));
  CHECK(any_contains(log.warnings, "the row of 4096 bytes has a time that is no number; it is left out"));
}

TEST_CASE("wrong elements and failed programs are said", "[records][nccl-tests]") {
  auto const log =
      read_one_log(std::string{"# all_gather_perf\n"} + kHeader +
                   "  1024  256  float  none  -1  10.0  0.1  0.1  7  10.0  0.1  0.1  0\n"
                   "  2048  512  float  none  -1 node0: Test CUDA failure common.cu:389 'illegal address'\n");
  CHECK(any_contains(log.warnings, "7 elements were wrong at 1024 bytes"));
  CHECK(log.rows.size() == 1);
  CHECK(any_contains(log.warnings, "found no average"));
}

TEST_CASE("a file without a table is refused with the way out", "[records][nccl-tests]") {
  CHECK_THROWS_WITH(read_nccl_tests("a.log", "nothing\n"),
                    Catch::Contains("a.log: found no row") && Catch::Contains("give the whole output"));
  CHECK_THROWS_AS(read_nccl_tests("a.log", ""), InputError);
}

TEST_CASE("a log becomes a record that says null where it is silent", "[records][nccl-tests]") {
  auto const document = io::parse({"records", records_json("dir/nccl_tests.log", log_fixture())});
  auto const first = document.elements().at(0);
  CHECK(first.at("collective").string() == "all_reduce");
  CHECK(first.at("gpus_per_node").integer() == 2);
  CHECK(first.has("system"));
  CHECK_FALSE(first.find("system").has_value());
  // [size_bytes, time_us, algbw_GBps, busbw_GBps]
  auto const row = first.at("rows").elements().at(3).elements();
  CHECK(row.at(0).integer() == 4194304);
  CHECK(row.at(1).number() == 148.2);
  CHECK(row.at(3).number() == 42.45);
  CHECK_FALSE(document.elements().at(1).find("nccl_version").has_value());
}

TEST_CASE("a log becomes the records that its JSON text reads as", "[records][nccl-tests]") {
  auto const logs = log_fixture();
  auto const records = records_of("dir/nccl_tests.log", logs);
  auto const read = validate::read_collective_records(io::parse({"records", records_json("dir/nccl_tests.log", logs)}));
  REQUIRE(records.size() == read.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].id == read[i].id);
    CHECK(records[i].system == read[i].system);
    CHECK(records[i].kind == read[i].kind);
    CHECK(records[i].ranks == read[i].ranks);
    CHECK(records[i].device == read[i].device);
    CHECK(records[i].library == read[i].library);
    CHECK(records[i].version == read[i].version);
    CHECK(records[i].environment == read[i].environment);
    CHECK(records[i].launcher == read[i].launcher);
    CHECK(records[i].health == read[i].health);
    CHECK(records[i].points == read[i].points);
  }
}

TEST_CASE("a log that lacks what a record needs is refused with the line to add", "[records][nccl-tests]") {
  CHECK_THROWS_WITH(records_of("a.log", {CollectiveLog{.ranks = 2}}),
                    Catch::Contains("does not say which collective") && Catch::Contains("all_reduce_perf"));
  CHECK_THROWS_WITH(records_of("a.log", {CollectiveLog{.collective = CollectiveKind::kReduce}}),
                    Catch::Contains("found no number of ranks"));
  auto log = CollectiveLog{.collective = CollectiveKind::kReduce, .ranks = 2};
  log.rows.push_back({.size = Bytes{8}, .count = {}, .out_of_place = LoggedTiming{}, .in_place = {}});
  CHECK_THROWS_WITH(records_of("a.log", {log}), Catch::Contains("a.log: found 0 us at 8 bytes"));
}
