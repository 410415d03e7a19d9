#include <algorithm>

#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/texts.hpp"
#include "validate/records/nccl_tests.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::records;

namespace {

std::string fixture_text() {
  return io::read_text(TWINSTEP_FIXTURES "/nccl_tests.json");
}

std::string replaced(std::string_view from, std::string_view to) {
  return tests::changed(fixture_text(), from, to);
}

}  // namespace

TEST_CASE("nccl-tests' own JSON gives what its text gives", "[records][nccl-tests]") {
  auto const logs = read_nccl_tests("out.json", fixture_text());
  REQUIRE(logs.size() == 1);
  auto const& log = logs.front();
  CHECK(log.collective == CollectiveKind::kReduceScatter);
  CHECK(log.library_version == "2.28.7");
  CHECK(log.environment.at("NCCL_ALGO") == "Ring");
  CHECK_FALSE(log.environment.contains("PATH"));
  CHECK(log.type == "float");
  CHECK(log.average_bus_bandwidth->count() == Approx(21.887585e9));
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].size == 1_MiB);
  CHECK(log.rows[0].out_of_place->time == Duration{40'250'000});
  CHECK(log.rows[0].out_of_place->bus_bandwidth->count() == Approx(19.538683e9));
  CHECK(log.rows[0].in_place->time == Duration{39'500'000});
  CHECK_FALSE(log.rows[0].in_place->wrong.has_value());  // null: nobody looked
}

TEST_CASE("each process of nccl-tests' JSON lists one of its GPUs, and has them all", "[records][nccl-tests]") {
  // Two processes of two GPUs: ranks 0, 1 on node0 and 2, 3 on node1.
  auto const log = read_nccl_tests("out.json", fixture_text()).front();
  CHECK(log.ranks == 4);
  CHECK(log.seen_ranks.at(3) == LoggedRank{3, 78, "node1", 1, "NVIDIA H100 80GB HBM3"});
  CHECK(log.launcher == hardware::Launcher::kOneProcess);
}

TEST_CASE("wrong elements and times that are no numbers are said of JSON too", "[records][nccl-tests]") {
  auto const log = read_nccl_tests("out.json", fixture_text()).front();
  CHECK_FALSE(log.rows[1].in_place.has_value());
  REQUIRE(log.warnings.size() == 1);
  CHECK_THAT(log.warnings[0], Catch::Contains("out.json: 3 elements were wrong at 2097152 bytes"));
  auto const later = read_nccl_tests("out.json", replaced("\"time\":60.000000", "\"time\":\"nan\"")).front();
  CHECK(later.rows.size() == 1);
  CHECK_THAT(later.warnings.at(0), Catch::Contains("/results/1: has no out-of-place time at 2097152 bytes"));
}

TEST_CASE("element types of one JSON become logs of their own", "[records][nccl-tests]") {
  auto const logs =
      read_nccl_tests("out.json", replaced("\"count\":131072,\"type\":\"float\"", "\"count\":1,\"type\":\"half\""));
  REQUIRE(logs.size() == 2);
  CHECK(logs[1].type == "half");
  CHECK(logs[1].ranks == 4);
}

TEST_CASE("other JSON is refused with its place and the way out", "[records][nccl-tests]") {
  CHECK_THROWS_WITH(
      read_nccl_tests("p.json", R"({"name": "h100", "memory_capacity": "80 GB"})"),
      Catch::Contains("p.json:1:1: found JSON without \"config\" and \"results\"") && Catch::Contains("text log"));
  CHECK_THROWS_WITH(read_nccl_tests("out.json", replaced("\"ngpus\":2", "\"ngpus\":2000000")),
                    Catch::Contains("/config/ngpus: found 2000000"));
  auto const text = fixture_text();
  CHECK_THROWS_AS(read_nccl_tests("out.json", text.substr(0, text.size() / 2)), InputError);
  CHECK_THROWS_WITH(read_nccl_tests("out.json", R"({"args": ["all_reduce_perf"], "config": {"nthreads": 1, "ngpus": 1,
                                                    "devices": []}, "results": []})"),
                    Catch::Contains("/results: found no result with a time"));
}
