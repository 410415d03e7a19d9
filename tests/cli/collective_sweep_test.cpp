#include <string>
#include <vector>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using tests::Outcome;
using tests::run_twinstep;

namespace {

Outcome collective(std::vector<std::string> const& more, std::string const& cluster = "dgx-h100-ndr") {
  auto arguments = std::vector<std::string>{"collective", cluster};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_twinstep(arguments);
}

io::Node rows(std::vector<std::string> more, std::string const& cluster = "dgx-h100-ndr") {
  more.emplace_back("--json");
  auto const outcome = collective(more, cluster);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return io::parse({"rows", outcome.out}).at("rows");
}

double time_of(io::Node const& all) {
  return all.elements().back().at("time_us").number();
}

}  // namespace

TEST_CASE("a sweep of a collective has nccl-tests' columns and names what was chosen", "[cli][collective]") {
  auto const outcome = collective({"--ranks", "16", "-b", "8", "-e", "1G", "-f", "4"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  for (auto const* const part : {"#       size         count      type   redop    root     time   algbw   busbw #wrong",
                                 "nvlstree/simple 16ch", "tree/ll ", "# Avg bus bandwidth", "busiest link"})
    CHECK_THAT(outcome.out, Catch::Contains(part));
}

TEST_CASE("every row says size, time, rates, choice and interval", "[cli][collective]") {
  auto const all = rows({"--ranks", "8", "-b", "1M", "-e", "1G", "-f", "32"});
  REQUIRE(all.elements().size() == 3);
  for (auto const& row : all.elements()) {
    auto const size = row.at("size_bytes").number();
    auto const time = row.at("time_us").number();
    // Algorithm bandwidth is size over time; all_reduce on 8 ranks crosses 2 * 7 / 8 of that.
    CHECK(row.at("algbw_GBps").number() == Approx(size / time / 1e3));
    CHECK(row.at("busbw_GBps").number() == Approx(1.75 * size / time / 1e3));
    CHECK(row.at("low_us").number() < time);
    CHECK(row.at("high_us").number() > time);
    CHECK(row.at("channels").integer() >= 1);
    CHECK_FALSE(row.at("algorithm").string().empty());
    CHECK_FALSE(row.at("protocol").string().empty());
  }
}

TEST_CASE("exact says what the formula says, to the picosecond and whatever the ranks", "[cli][collective]") {
  // 2(n - 1)(alpha + S/n/B) with S = 2^30 bytes, B = 50 GB/s, alpha = 1 us.
  for (auto const& [ranks, milliseconds] : {std::pair{8, 37.595}, std::pair{64, 42.405}})
    for (auto const* const fidelity : {"exact", "folded", "closed"})
      CHECK(time_of(rows({"--ranks", std::to_string(ranks), "-b", "1G", "-e", "1G", "--algorithm", "ring", "--fidelity",
                          fidelity},
                         "flat-switch")) == Approx(milliseconds * 1e3).margin(0.5));
  for (auto const& [ranks, milliseconds] : {std::pair{512, 43.888}, std::pair{4096, 51.129}, std::pair{16384, 75.713}})
    CHECK(time_of(rows({"--ranks", std::to_string(ranks), "-b", "1G", "-e", "1G", "--algorithm", "ring"},
                       "flat-switch")) == Approx(milliseconds * 1e3).margin(0.5));
}

TEST_CASE("an exact all_to_all is held by the NICs", "[cli][collective]") {
  // 64 ranks on 8 nodes: of 1 GiB each, 56/64 leaves by a NIC of 50 GB/s: 18.79 ms at least.
  auto const time = time_of(rows({"--op", "all_to_all", "--ranks", "64", "--set", "cluster.nodes=8", "-b", "1G", "-e",
                                  "1G", "--fidelity", "exact"}));
  CHECK(time > 18'790);
  CHECK(time < 18'790 / 0.85);
}

TEST_CASE("--explain prints the table that the choice was made from, and one sentence why", "[cli][collective]") {
  auto const outcome = collective({"--ranks", "8", "-b", "4M", "-e", "4M", "--explain"});
  CHECK(outcome.exit_code == 0);
  for (auto const* const part : {"tuner says", "chosen", "nvls/simple from 2 MiB on, because", "is for several nodes"})
    CHECK_THAT(outcome.out, Catch::Contains(part));
}
