#include <filesystem>

#include <fmt/core.h>

#include "sim/io/document.hpp"
#include "tests/cli/refusals.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

/// all_gather on two nodes of eight H100, as by 8 NICs of 50 GB/s of which 80 % are reached: 15/16 of the bytes pass
/// 320 GB/s, after 40 us.
std::string records(std::string_view health = "healthy") {
  auto rows = std::string{};
  for (auto size = std::int64_t{1024}; size <= (std::int64_t{1} << 32); size *= 4) {
    auto const microseconds = 40 + static_cast<double>(size) * 15 / 16 / 320e3;
    rows += (rows.empty() ? "[" : ", [") + std::to_string(size) + ", " + std::to_string(microseconds) + "]";
  }
  return R"([{"id": "ours", "system": "our cluster", "collective": "all_gather", "ranks": 16, "health": ")" +
         std::string{health} + R"(", "rows": [)" + rows + "]}]";
}

Outcome calibrate(std::string const& cluster, std::string const& file, std::string const& out,
                  std::vector<std::string> const& more = {}) {
  auto arguments = std::vector<std::string>{"calibrate", cluster, "--measurements", file, "--out", out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_twinstep(arguments);
}

double seconds_of(std::string const& cluster) {
  auto const outcome =
      run_twinstep({"collective", cluster, "--op", "all_gather", "--ranks", "16", "-b", "1G", "-e", "1G", "--json"});
  REQUIRE(outcome.exit_code == 0);
  return io::parse({"out", outcome.out}).at("rows").elements().front().at("time_us").number() * 1e-6;
}

}  // namespace

TEST_CASE("calibrate writes a profile that every command takes and that predicts as was measured", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const file = folder.write("records.json", records());
  auto const profile = folder.path("ours.json");
  auto const outcome = calibrate("dgx-h100-ndr", file, profile);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  for (auto const* const part : {"fabric.transport.efficiency", "Not fitted", "calibrated: other sizes", "SHA-256"})
    CHECK_THAT(outcome.out, Catch::Contains(part));

  CHECK(run_twinstep({"profiles", "check", profile}).exit_code == 0);
  auto const measured = 40e-6 + 1073741824.0 * 15 / 16 / 320e9;
  CHECK(seconds_of(profile) == Approx(measured).epsilon(0.03));
  CHECK(seconds_of("dgx-h100-ndr") < measured * 0.9);

  auto const document = io::parse({"profile", read_file(profile)});
  CHECK(document.at("profile").string() == "dgx-h100-ndr");
  auto const efficiency = document.at("fabric").at("transport").at("efficiency");
  // 320 of 400 GB/s. The profile's 0.985 holds it back some way; the correction by size does the rest.
  CHECK(efficiency.at("value").number() == Approx(0.85).margin(0.05));
  CHECK(efficiency.at("basis").string() == "fitted");
  CHECK(efficiency.at("spread").number() > 0);
  CHECK_THAT(std::string{document.at("calibration").string()},
             Catch::StartsWith("calibrated on ") && Catch::Contains("all_gather of 1.0 KiB to 4.0 GiB on 16 ranks"));
}

TEST_CASE("validate tells what a calibrated profile was fitted on from what it only predicts", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const file = folder.write("records.json", records());
  auto const profile = folder.path("ours.json");
  REQUIRE(calibrate("dgx-h100-ndr", file, profile).exit_code == 0);
  auto const larger = with(records(), "]]}]", "], [17179869184, 50400]]}]");
  auto const other = with(larger, "\"ours\"", "\"theirs\"");
  auto const outcome =
      run_twinstep({"validate", "collectives", folder.write("more.json", other), "--cluster", profile, "--json"});
  REQUIRE(outcome.exit_code == 0);
  auto const document = io::parse({"out", outcome.out});
  CHECK_THAT(std::string{document.at("what").string()}, Catch::Contains("1 lie beyond what was calibrated"));
  auto const rows = document.at("records").elements();
  CHECK(rows.front().at("fitted").boolean());
  CHECK(rows.front().at("low").number() < rows.front().at("measured").number());
  CHECK(rows.front().at("high").number() > rows.front().at("measured").number());
  CHECK_FALSE(rows.back().at("fitted").boolean());
  CHECK_THAT(std::string{rows.back().at("note").string()}, Catch::StartsWith("extrapolated"));
}

TEST_CASE("calibrate takes no sweep of another library, and says where a GPU is another", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const profile = folder.path("ours.json");
  auto const of = [&](std::string_view key, std::string_view value) {
    auto const more = fmt::format(R"("id": "ours", "{}": "{}", )", key, value);
    return folder.write("records.json", with(records(), R"("id": "ours", )", more));
  };
  check_refusal(calibrate("dgx-h100-ndr", of("backend", "gloo"), profile),
                {"ours: was measured with gloo, but dgx-h100-ndr runs nccl: name a cluster that runs the same"});
  CHECK_FALSE(std::filesystem::exists(profile));
  auto const kernels = folder.write("kernels.json", R"([{"measurement": "gemm", "device": "a CPU", "backend": "gloo",
    "dtype": "bf16", "m": 4096, "n": 4096, "k": 4096, "time_us": 9e5}])");
  check_refusal(calibrate("dgx-h100-ndr", kernels, profile),
                {"kernels.json: was measured with gloo, but dgx-h100-ndr runs nccl"});
  auto const other = calibrate("dgx-h100-ndr", of("gpu", "NVIDIA A100-SXM4-80GB"), profile);
  CHECK(other.exit_code == 0);
  CHECK_THAT(other.err, Catch::Contains("ours: was measured on NVIDIA A100-SXM4-80GB, but dgx-h100-ndr has h100"));
}

TEST_CASE("what is predicted is not taken as measured", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const predicted = run_twinstep({"collective", "dgx-h100-ndr", "--op", "all_reduce", "--ranks", "8", "--json"});
  auto const file = folder.write("predicted.json", predicted.out);
  auto const complaint = std::string{"predicted.json:1:1: found predictions of collectives, expected"};
  check_refusal(run_twinstep({"validate", "collectives", file, "--cluster", "dgx-h100-ndr"}), {complaint});
  check_refusal(calibrate("dgx-h100-ndr", file, folder.path("ours.json")), {complaint});
}

TEST_CASE("calibrate writes profiles that are read again, however far measurements lie from predictions",
          "[cli][calibrate]") {
  auto const folder = Scratch{};
  // Seconds where microseconds are expected: a millionth of what is predicted, less than three digits show.
  auto rows = std::string{};
  for (auto size = std::int64_t{1024}; size <= (std::int64_t{1} << 28); size *= 4) {
    auto const seconds = (40 + static_cast<double>(size) * 15 / 16 / 320e3) * 1e-6;
    rows += fmt::format("{}[{}, {}]", rows.empty() ? "" : ", ", size, seconds);
  }
  auto const file = folder.write(
      "seconds.json", R"([{"id": "ours", "collective": "all_gather", "ranks": 16, "rows": [)" + rows + "]}]");
  auto const profile = folder.path("ours.json");
  REQUIRE(calibrate("dgx-h100-ndr", file, profile).exit_code == 0);
  auto const outcome = run_twinstep({"profiles", "check", profile});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("collective says what lies beyond the calibration", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const profile = folder.path("ours.json");
  REQUIRE(calibrate("dgx-h100-ndr", folder.write("records.json", records()), profile).exit_code == 0);
  auto const ask = [&](std::string const& op) {
    return run_twinstep({"collective", profile, "--op", op, "--ranks", "16", "-b", "1M", "-e", "8M"}).out;
  };
  CHECK_THAT(ask("all_gather"), !Catch::Contains("extrapolated"));  // 16 ranks, 1 KiB to 4 GiB were measured
  CHECK_THAT(ask("reduce_scatter"), Catch::Contains("4 of 4 sizes are extrapolated"));
}

TEST_CASE("a profile can be calibrated from a file, from facts, and again", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const file = folder.write("records.json", records());
  auto const first = folder.path("first.json");
  auto const second = folder.path("second.json");
  REQUIRE(calibrate("dgx-h100-ndr", file, first).exit_code == 0);
  REQUIRE(calibrate(first, file, second).exit_code == 0);
  CHECK(io::parse({"profile", read_file(second)}).at("profile").string() == "first.json");
  CHECK(seconds_of(second) == Approx(seconds_of(first)).epsilon(0.03));
  auto const of_facts = folder.path("facts.json");
  REQUIRE(calibrate(R"({"gpu": "h100-80g", "gpus_per_node": 8, "nodes": 2, "fabric": "infiniband", "nic_gbps": 400})",
                    file, of_facts)
              .exit_code == 0);
  CHECK(run_twinstep({"profiles", "check", of_facts}).exit_code == 0);
}

TEST_CASE("calibrate --json is one document with numbers, reasons and errors", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const outcome =
      calibrate("dgx-h100-ndr", folder.write("records.json", records()), folder.path("ours.json"), {"--json"});
  REQUIRE(outcome.exit_code == 0);
  auto const document = io::parse({"out", outcome.out});
  CHECK(document.at("data_sha256").string().size() == 64);
  CHECK(document.at("predictors").elements().size() > 4);
  auto fitted = 0;
  auto left_out = 0;
  for (auto const& number : document.at("numbers").elements())
    ++(number.at("left_out").string().empty() ? fitted : left_out);
  CHECK(fitted > 0);
  CHECK(left_out > 0);
}

TEST_CASE("calibrate refuses what it cannot use, and leaves the profile that is there", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const out = folder.write("out.json", "as it was");
  auto const unhealthy = folder.write("unhealthy.json", records("misconfigured"));
  check_refusal(calibrate("dgx-h100-ndr", unhealthy, out), {"misconfigured"});
  check_refusal(calibrate("dgx-h100-ndr", folder.path("none.json"), out), {"none.json"});
  check_refusal(calibrate("dgx-h100-ndr", folder.write("empty.json", "[]"), out), {"found no record"});
  check_refusal(calibrate("dgx-h101", folder.write("good.json", records()), out), {"dgx-h100-ndr"});
  auto const too_many = with(records(), "\"ranks\": 16", "\"ranks\": 64");
  check_refusal(calibrate("dgx-h100-ndr", folder.write("many.json", too_many), out), {"64 ranks"});
  for (auto const* const time : {"0", "-1", "1e-300", "1e300"}) {
    auto const absurd = with(records(), "[1024, ", fmt::format("[512, {}], [1024, ", time));
    check_refusal(calibrate("dgx-h100-ndr", folder.write("absurd.json", absurd), out), {"us, expected"});
  }
  CHECK(read_file(out) == "as it was");
  check_refusal(calibrate("dgx-h100-ndr", folder.path("good.json"), folder.path("no/such/folder.json")),
                {"found no directory"});
}

TEST_CASE("calibrate does not replace what it reads", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const file = folder.write("records.json", records());
  auto const profile = folder.path("ours.json");
  REQUIRE(calibrate("dgx-h100-ndr", file, profile).exit_code == 0);
  auto const before = read_file(profile);
  check_refusal(calibrate(profile, file, folder.path("./ours.json")),
                {"is an input and would be replaced; name another file"});
  check_refusal(calibrate("dgx-h100-ndr", file, file), {"is an input and would be replaced; name another file"});
  CHECK(read_file(profile) == before);
  CHECK(read_file(file) == records());
}

TEST_CASE("calibrate replaces a profile as a whole", "[cli][calibrate]") {
  auto const folder = Scratch{};
  auto const out = folder.write("out.json", "as it was");
  REQUIRE(calibrate("dgx-h100-ndr", folder.write("records.json", records()), out).exit_code == 0);
  CHECK(io::parse({"profile", read_file(out)}).has("calibration"));
  CHECK(folder.files() == std::vector<std::string>{"out.json", "records.json"});
}
