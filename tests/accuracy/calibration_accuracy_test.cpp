#include <string>
#include <vector>

#include "sim/io/document.hpp"
#include "tests/accuracy/collective_records.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;

namespace {

/// One line of the table that --cross-validate prints, in per cent.
struct Line {
  double median = 0;
  double mean = 0;
  double worst = 0;
  double inside = 0;      ///< of the points, in their 90 % interval
  double half_width = 0;  ///< of that, the median
  std::int64_t systems = 0;
};

/// Systems are calibrated to parts of their own measurements: once for all claims.
io::Node const& study() {
  static auto const result = [] {
    auto const outcome =
        tests::run_twinstep({"validate", "collectives", tests::collective_records(), "--cross-validate", "--json"});
    REQUIRE(outcome.exit_code == 0);
    return io::parse({"accuracy", outcome.out});
  }();
  return result;
}

/// Over all sizes.
Line line(std::string_view name) {
  auto result = Line{};
  auto is_found = false;
  for (auto const& each : study().at("predictors").elements()) {
    if (each.at("name").string() != name) continue;
    for (auto const& figures : each.at("errors").elements()) {
      if (figures.at("sizes").string() != "all sizes") continue;
      result.median = figures.at("median").number() * 100;
      result.mean = figures.at("mean").number() * 100;
    }
    result.worst = each.at("worst").number() * 100;
    result.systems = each.at("systems").integer();
    if (auto const interval = each.find("interval")) {
      result.inside = interval->at("inside").number() * 100;
      result.half_width = interval->at("median_half_width").number() * 100;
    }
    is_found = true;
  }
  REQUIRE(is_found);
  return result;
}

/// The error of one record, all of its points counting, when `profile` predicts it.
struct Score {
  double all = 0;
  double from_1_mib = 0;
  bool is_extrapolated = false;
};

Score score(std::string const& file, std::string const& cluster) {
  auto const outcome = tests::run_twinstep({"validate", "collectives", file, "--cluster", cluster, "--json"});
  REQUIRE(outcome.exit_code == 0);
  auto const document = io::parse({"accuracy", outcome.out});
  auto score = Score{0, 0, true};
  auto all = 0;
  auto large = 0;
  for (auto const& row : document.at("records").elements()) {
    if (std::string{row.at("note").string()}.starts_with("an outlier")) continue;
    auto const error = std::abs(row.at("error").number()) * 100;
    score.all += error;
    ++all;
    if (row.at("size_bytes").integer() >= 1 << 20) {
      score.from_1_mib += error;
      ++large;
    }
    score.is_extrapolated =
        score.is_extrapolated && std::string{row.at("note").string()}.find("extrapolated") != std::string::npos;
  }
  REQUIRE(large > 0);
  score.all /= all;
  score.from_1_mib /= large;
  return score;
}

/// The public records of these ids, as a file.
std::string only(tests::Scratch const& folder, std::string_view name, std::vector<std::string> const& ids) {
  // Every record is one line of the file.
  auto const text = tests::read_file(tests::collective_records());
  auto found = std::string{};
  for (auto const& id : ids) {
    auto const at = text.find("{\"id\":\"" + id + "\"");
    REQUIRE(at != std::string::npos);
    auto line = text.substr(at, text.find('\n', at) - at);
    if (line.ends_with(",")) line.pop_back();
    found += (found.empty() ? "" : ",\n") + line;
  }
  return folder.write(name, "[" + found + "]");
}

std::string calibrated(tests::Scratch const& folder, std::string const& cluster, std::vector<std::string> const& ids) {
  auto const profile = folder.path("calibrated.json");
  auto const file = only(folder, "measured.json", ids);
  REQUIRE(tests::run_twinstep({"calibrate", cluster, "--measurements", file, "--out", profile}).exit_code == 0);
  return profile;
}

}  // namespace

// Per cent, systems counting once. The limits are what stands plus a small margin; the goals stand beside them.

TEST_CASE("a calibration to a full sweep follows it to 3 %, the worst system's to 6 %", "[accuracy][calibration]") {
  auto const ours = line("calibrated: same points");
  CHECK(ours.systems >= 20);
  CHECK(ours.median <= 2.5);  // goal 4
  CHECK(ours.mean <= 3);
  CHECK(ours.worst <= 6);  // goal 4: one process for eight H800, whose broadcast stays at 43 us from 512 KiB to 4 MiB
  CHECK(ours.median < line("  a line through them").median / 3);
}

TEST_CASE("every other size predicts the sizes between to 5 %", "[accuracy][calibration]") {
  auto const ours = line("calibrated: other sizes");
  CHECK(ours.median <= 4.6);  // goal 5
  CHECK(ours.mean <= 5);
  CHECK(ours.median < line("  a line through half of them").median / 2);
}

TEST_CASE("of sizes that took no part 87 to 97 % lie in their 90 % interval, 16 % either way",
          "[accuracy][calibration]") {
  auto const ours = line("calibrated: other sizes");
  CHECK(ours.inside >= 87);
  CHECK(ours.inside <= 97);
  CHECK(ours.half_width <= 16);  // goal 15
}

TEST_CASE("two numbers from five points predict a whole sweep to 9 %", "[accuracy][calibration]") {
  auto const ours = line("2 numbers from 5 points");
  CHECK(ours.median <= 8.5);  // goal 10
  CHECK(ours.mean <= 9);      // goal 10
}

TEST_CASE("a calibrated cluster predicts its twin to 7 % from 1 MiB on", "[accuracy][calibration]") {
  // 2 x 8 H100 on InfiniBand, at two sites; to copy the one's curve is 6.1 % off at the other, which is the goal.
  auto const folder = tests::Scratch{};
  auto const profile = calibrated(folder, "dgx-h100-ndr", {"dell-h100-2n-allreduce"});
  auto const twin = score(only(folder, "twin.json", {"gj-h100-2n-allreduce"}), profile);
  CHECK(twin.from_1_mib <= 7);
}

TEST_CASE("all_reduce and all_gather calibrate eight A100 for all_to_all to 7 %, as an extrapolation",
          "[accuracy][calibration]") {
  auto const folder = tests::Scratch{};
  auto const profile = calibrated(folder, "azure-nda100v4", {"azure-ndv4-1n-allreduce", "azure-ndv4-1n-allgather"});
  auto const other = score(only(folder, "other.json", {"azure-ndv4-1n-alltoall"}), profile);
  CHECK(other.is_extrapolated);
  CHECK(other.all <= 7);
}

TEST_CASE("one and two nodes calibrate four to 1 %", "[accuracy][calibration]") {
  auto const folder = tests::Scratch{};
  auto const cluster =
      R"({"gpu": "mi325x", "gpus_per_node": 8, "nodes": 4, "intra": "xgmi-mesh", "fabric": "roce", "nics_per_node": 8, "nic_gbps": 400})";
  auto const profile = calibrated(folder, cluster, {"aac-mi325x-1n-allreduce-ring", "aac-mi325x-2n-allreduce-ring"});
  auto const four = score(only(folder, "four.json", {"aac-mi325x-4n-allreduce-ring"}), profile);
  CHECK(four.is_extrapolated);
  CHECK(four.all <= 1);
}
