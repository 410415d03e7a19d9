#include <sstream>

#include "sim/io/document.hpp"
#include "tests/cli/refusals.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

/// Two rings of 16 GPUs: one as fast as eight NICs of 50 GB/s let it be (2 * 15/16 * 1 GiB at 360 GB/s are 5.6 ms), one
/// four times as slow; and one that does not say where it ran.
constexpr auto kRecords = R"([
  {"id": "fast", "system": "A", "collective": "all_reduce", "ranks": 16, "env": {"NCCL_ALGO": "Ring"},
   "cluster": {"gpu": "h100-80g", "gpus_per_node": 8, "nodes": 2, "intra": "nvswitch", "fabric": "infiniband",
               "nics_per_node": 8, "nic_gbps": 400},
   "rows": [[536870912, 2800], [1073741824, 5600]]},
  {"id": "slow", "system": "B", "collective": "all_reduce", "ranks": 16, "env": {"NCCL_ALGO": "Ring"},
   "cluster": {"gpu": "h100-80g", "gpus_per_node": 8, "nodes": 2, "intra": "nvswitch", "fabric": "infiniband",
               "nics_per_node": 8, "nic_gbps": 400},
   "rows": [[536870912, 10300], [1073741824, 20500]]},
  {"id": "nowhere", "system": "C", "collective": "all_reduce", "ranks": 16, "rows": [[1073741824, 5600]]}
])";

/// The machine of the log among the fixtures: two hosts with two GPUs each.
constexpr auto kTwoByTwo = R"({"gpu": "h100-80g", "gpus_per_node": 2, "nodes": 2, "intra": "nvswitch",
                               "fabric": "infiniband", "nics_per_node": 2, "nic_gbps": 400})";

Outcome validate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"validate", "collectives"});
  return run_twinstep(arguments);
}

std::string log_fixture() {
  return in_repository("tests/fixtures/nccl_tests.log");
}

}  // namespace

TEST_CASE("validate prints errors of predictors and systems, then what would explain a slow sweep", "[cli][validate]") {
  auto const folder = Scratch{};
  auto const outcome = validate({folder.write("records.json", kRecords)});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  for (auto const* const part : {"3 records, 2 of them scored", "twinstep, as shipped", "NCCL's tuner formula",
                                 "nearest measured system", "line fitted to itself"})
    CHECK_THAT(outcome.out, Catch::Contains(part));
  auto const finding = outcome.out.find("\n- slow takes ");
  REQUIRE(finding != std::string::npos);
  CHECK_THAT(outcome.out.substr(finding), Catch::Contains("2 of 8 NICs"));
  CHECK_THAT(outcome.out, !Catch::Contains("fast takes"));
  auto lines = std::istringstream{outcome.out.substr(finding)};
  for (auto line = std::string{}; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("validate --json notes findings and reasons with the records", "[cli][validate]") {
  auto const folder = Scratch{};
  auto const outcome = validate({folder.write("records.json", kRecords), "--json"});
  CHECK(outcome.exit_code == 0);
  auto const document = io::parse({"out", outcome.out});
  auto const records = document.at("records").elements();
  REQUIRE(records.size() == 5);  // two points of two records, and the one that could not be predicted
  for (auto const& record : records) {
    auto const note = std::string{record.at("note").string()};
    if (record.at("id").string() == "fast") CHECK(note.empty());
    if (record.at("id").string() == "slow") CHECK_THAT(note, Catch::Contains("2 of 8 NICs in use"));
    if (record.at("id").string() == "nowhere") CHECK_THAT(note, Catch::Contains("name the machine"));
  }
  auto const findings = document.at("findings").elements();
  REQUIRE(findings.size() == 2);  // what the record itself shows, then what a simulation would explain
  CHECK_THAT(std::string{findings.front().string()}, Catch::StartsWith("slow: reaches "));
  CHECK_THAT(std::string{findings.back().string()}, Catch::StartsWith("slow takes "));
  auto const families = document.at("families").elements();
  CHECK(families.size() == 3);
  CHECK(families.back().at("skipped").integer() == 1);
}

TEST_CASE("validate --max-mape decides the exit code", "[cli][validate]") {
  auto const folder = Scratch{};
  auto const file = folder.write("records.json", kRecords);
  CHECK(validate({file, "--max-mape", "1"}).exit_code == 1);  // "slow" alone is 70 % off
  CHECK(validate({file, "--max-mape", "99"}).exit_code == 0);
}

TEST_CASE("validate reads a log of nccl-tests on a machine that is named, beside JSON records", "[cli][validate]") {
  auto const folder = Scratch{};
  auto const log = validate({log_fixture(), "--cluster", kTwoByTwo, "--json"});
  CHECK(log.exit_code == 0);
  CHECK_THAT(log.err, Catch::Contains("warning: ") && Catch::Contains("is cut off"));
  auto const first = io::parse({"out", log.out}).at("records").elements().front();
  CHECK(first.at("id").string() == "nccl_tests-1");
  CHECK(first.at("measured").number() == Approx(28.41));

  auto const file = folder.write("records.json", with(kRecords, "\"ranks\": 16", "\"ranks\": 4"));
  auto const both = validate({file, log_fixture(), "--cluster", kTwoByTwo, "--json"});
  CHECK(both.exit_code == 0);
  auto const families = io::parse({"out", both.out}).at("families").elements();
  CHECK(families.size() == 5);  // A, B, C, and the two tables of the log
  CHECK(families.front().at("count").integer() == 1);
}

TEST_CASE("validate refuses a log without its machine, or on other nodes than its own", "[cli][validate]") {
  check_refusal(validate({log_fixture()}), {"name the cluster"});
  check_refusal(validate({log_fixture(), "--cluster", "dgx-h100-ndr"}), {"\"gpus_per_node\": 2"});
}

TEST_CASE("validate refuses files that hold no measurements", "[cli][validate]") {
  auto const folder = Scratch{};
  check_refusal(validate({folder.path("none.json")}), {"none.json"});
  check_refusal(validate({folder.write("a.txt", "hello\n"), "--cluster", "dgx-h100-ndr"}), {"found no row of a table"});
  check_refusal(validate({folder.write("b.json", "[]")}), {"found no record"});
  check_refusal(validate({folder.write("c.json", R"([{"id": "x"}])")}), {"collective"});
}

TEST_CASE("that NCCL is older than what is known of it is said once, by validate and calibrate alike",
          "[cli][validate]") {
  auto const folder = Scratch{};
  auto const record = [](std::string const& id, std::string const& rows) {
    return R"({"id": ")" + id + R"(", "system": "a", "collective": "all_reduce", "ranks": 8, "nodes": 1,
      "gpus_per_node": 8, "gpu": "NVIDIA H100 80GB HBM3", "nccl_version": "2.3.7", "rows": )" +
           rows + "}";
  };
  auto const rows = std::string{"[[1024, 30.0, 0.03, 0.06], [1048576, 60.0, 17, 30], [268435456, 1100.0, 244, 427]]"};
  auto const file = folder.write("old.json", "[" + record("a", rows) + ", " + record("b", rows) + "]");
  auto const times_said = [](std::string const& text) {
    auto count = 0;
    for (auto at = text.find("NCCL 2.3.7 is older"); at != std::string::npos;
         at = text.find("NCCL 2.3.7 is older", at + 1))
      ++count;
    return count;
  };
  CHECK(times_said(run_twinstep({"validate", "collectives", file, "--cluster", "dgx-h100-ndr"}).err) == 1);
  CHECK(times_said(
            run_twinstep({"calibrate", "dgx-h100-ndr", "--measurements", file, "--out", folder.path("c.json")}).err) ==
        1);
}
