#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"
#include "validate/records/collective_record.hpp"
#include "validate/records/kernel_record.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

void skip(char const* reason) {
  std::printf("SKIPPED: %s\n", reason);
}

/// Whether the module of Gloo was built.
bool has_gloo() {
  return std::filesystem::exists(std::filesystem::path{TWINSTEP_BINARY}.parent_path() / "libtwinstep_gloo.so");
}

using Arguments = std::vector<std::string>;

Arguments joined(Arguments first, Arguments const& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Runs `measure WHAT --backend gloo …` so that a point takes no longer than it must.
Outcome measure_with_gloo(std::string const& what, Arguments const& options) {
  auto const common = Arguments{"measure", what, "--backend", "gloo"};
  auto const quick = what == "step" ? Arguments{} : Arguments{"-n", "2", "-w", "1", "--max-time", "0.05"};
  return run_twinstep(joined(joined(common, quick), options));
}

/// The one line in which options are refused.
std::string refusal(Arguments const& arguments) {
  auto const outcome = run_twinstep(joined({"measure"}, arguments));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
  return outcome.err;
}

/// An environment variable, as a launcher sets it.
class Variable {
 public:
  Variable(std::string name, std::string const& value) : name_{std::move(name)} {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_.c_str()); }
  Variable(Variable const&) = delete;
  Variable& operator=(Variable const&) = delete;

 private:
  std::string name_;
};

constexpr auto kMlp = R"({
  "cluster": "workstation-2gpu-10gbe",
  "model": {"family": "mlp", "name": "small", "widths": [32, 32, 32]},
  "training": {"micro_batch": 8, "global_batch": 32, "precision": "fp32"},
  "strategy": {"name": "ddp"}
})";

}  // namespace

TEST_CASE("measure collective prints nccl-tests' columns, or says that there is no GPU", "[cli][measure]") {
  auto const outcome = run_twinstep(
      {"measure", "collective", "--backend", "nccl", "--op", "all_reduce", "-b", "8", "-e", "64K", "-n", "2"});
  if (outcome.exit_code == 0) {
    CHECK_THAT(outcome.out, Catch::Contains("time   algbw   busbw #wrong") && Catch::Contains("# Avg bus bandwidth"));
  } else {
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::Contains("found no GPU") && Catch::Contains("; "));
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
  }
}

TEST_CASE("every measurement on GPUs needs one, and says so in one line", "[cli][measure]") {
  auto const folder = Scratch{};
  auto const scenario = folder.write("mlp.json", kMlp);
  for (auto const& arguments : {Arguments{"compute"}, Arguments{"copy"}, Arguments{"step", scenario},
                                Arguments{"collective", "--op", "send_recv"}}) {
    auto const outcome = run_twinstep(joined(joined({"measure"}, arguments), {"--backend", "nccl", "-g", "2"}));
    INFO(arguments[0] << ": " << outcome.err);
    if (outcome.exit_code == 0) continue;  // on a machine with GPUs
    CHECK(outcome.exit_code == 3);
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
  }
}

TEST_CASE("two ranks of this host measure a collective, right on data, in nccl-tests' columns", "[cli][measure]") {
  if (!has_gloo()) return skip("no Gloo in this build");
  auto const outcome = measure_with_gloo("collective", {"--ranks", "2", "-b", "8", "-e", "8K", "-f", "1024"});
  fmt::print("{}", outcome.out);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("all_reduce, 2 ranks") && Catch::Contains("Gloo") &&
                              Catch::Contains("time   algbw   busbw #wrong") && Catch::Contains("float") &&
                              Catch::Contains("# Avg bus bandwidth"));
}

TEST_CASE("what was measured is read back as records, from the file too", "[cli][measure]") {
  if (!has_gloo()) return skip("no Gloo in this build");
  auto const folder = Scratch{};
  auto const file = folder.path("records.json");
  auto const outcome =
      measure_with_gloo("collective", {"--ranks", "2", "--op", "all_to_all", "--dtype", "fp64", "-b", "64", "-e", "4K",
                                       "-f", "64", "--json", "--out", file, "--system", "here", "--cluster",
                                       R"({"gpu": "h100", "gpus_per_node": 2, "nodes": 1, "intra": "pcie"})"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(read_file(file) == outcome.out);
  CHECK(folder.files() == std::vector<std::string>{"records.json"});
  auto const document = io::parse({"out", outcome.out});
  CHECK(document.elements()[0].at("complete").boolean());
  CHECK(document.elements()[0].at("wrong").integer() == 0);
  auto const records = validate::read_collective_records(document);
  REQUIRE(records.size() == 1);
  CHECK(records[0].kind == CollectiveKind::kAllToAll);
  CHECK(records[0].system == "here");
  CHECK(records[0].ranks == 2);
  CHECK(records[0].cluster->at("gpus_per_node").integer() == 2);
  REQUIRE(records[0].points.size() == 2);
  CHECK(records[0].points[0].size == Bytes{64});
  CHECK(records[0].points[1].size == Bytes{4096});
}

TEST_CASE("two collectives at once are measured alone and together", "[cli][measure]") {
  if (!has_gloo()) return skip("no Gloo in this build");
  auto const outcome = measure_with_gloo(
      "collective", {"--ranks", "2", "--op", "all_gather", "--beside", "broadcast", "-b", "4K", "-e", "4K", "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  auto const records = validate::read_collective_records(io::parse({"out", outcome.out}));
  REQUIRE(records.size() == 4);
  CHECK(records[0].is_healthy());
  CHECK(records[1].is_healthy());
  CHECK_FALSE(records[2].is_healthy());  // not to be fitted: slowed on purpose
  CHECK_FALSE(records[3].is_healthy());
}

TEST_CASE("kernels and copies are measured where there are any, and read back", "[cli][measure]") {
  if (!has_gloo()) return skip("no Gloo in this build");
  auto const gemms = measure_with_gloo("compute", {"--shapes", "16,32,8;64,64,64", "--json"});
  INFO(gemms.err);
  REQUIRE(gemms.exit_code == 0);
  auto const records = validate::read_kernel_records(io::parse({"out", gemms.out}));
  REQUIRE(records.size() == 2);
  CHECK(std::get<program::Gemm>(records[0].work.value()).k == 8);

  auto const copies = measure_with_gloo("copy", {"-b", "4K", "-e", "16K", "--json"});
  INFO(copies.err);
  REQUIRE(copies.exit_code == 0);
  CHECK(validate::read_kernel_records(io::parse({"out", copies.out})).size() == 2);
  CHECK_THAT(copies.err, Catch::Contains("left out: copy host_to_device"));
}

TEST_CASE("a GEMM is measured beside a collective", "[cli][measure]") {
  if (!has_gloo()) return skip("no Gloo in this build");
  auto const outcome = measure_with_gloo(
      "compute", {"--ranks", "2", "--shapes", "64,64,64", "--beside", "all_reduce", "--beside-size", "64K", "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  auto const records = validate::read_kernel_records(io::parse({"out", outcome.out}));
  REQUIRE(records.size() == 2);
  CHECK(records[0].beside.empty());
  CHECK(records[1].beside == "all_reduce");
}

TEST_CASE("a step is measured, and its timeline compares with the prediction", "[cli][measure]") {
  if (!has_gloo()) return skip("no Gloo in this build");
  auto const folder = Scratch{};
  auto const scenario = folder.write("mlp.json", kMlp);
  auto const measured = folder.path("measured.json");
  auto const predicted = folder.path("predicted.json");
  for (auto const* const compute : {"real", "delays"}) {
    auto const outcome = measure_with_gloo(
        "step", {scenario, "--ranks", "2", "--steps", "3", "--compute", compute, "--trace", measured});
    fmt::print("{}", outcome.out);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("step time") && Catch::Contains("forward") && Catch::Contains("backward") &&
                                Catch::Contains("optimizer") && Catch::Contains("exposed communication"));
  }
  REQUIRE(run_twinstep({"simulate", scenario, "--set", "strategy.ranks=2", "--trace", predicted}).exit_code == 0);
  auto const comparison = run_twinstep({"compare", predicted, measured});
  INFO(comparison.err);
  CHECK(comparison.exit_code == 0);
  CHECK_THAT(comparison.out, Catch::Contains("all_reduce"));
}

TEST_CASE("measure refuses wrong options before anything starts", "[cli][measure]") {
  struct Case {
    Arguments arguments;
    std::string message;
  };
  auto const folder = Scratch{};
  auto const scenario = folder.write("mlp.json", kMlp);
  auto const sound = Arguments{"collective", "--backend", "gloo"};
  for (auto const& [arguments, message] : std::vector<Case>{
           {{"collective", "--backend", "mpi"}, "found no such backend, expected gloo (CPUs) or nccl"},
           {joined(sound, {"--op", "allreduce"}), "did you mean \"all_reduce\""},
           {joined(sound, {"--op", "sendrecv"}), "did you mean \"send_recv\""},
           {joined(sound, {"--beside", "allgather"}), "--beside allgather: found no such collective"},
           {joined(sound, {"--dtype", "float"}), "--dtype float: found no such type"},
           {joined(sound, {"--dtype", "bf16"}), "expected fp32 or fp64"},
           {joined(sound, {"--redop", "mean"}), "--redop mean: found no such reduction"},
           {joined(sound, {"--ranks", "0"}), "--ranks"},
           {joined(sound, {"-g", "2"}), "which has no GPUs; use --ranks"},
           {joined(sound, {"-b", "8Q"}), "-b: found \"8Q\", expected a size"},
           {joined(sound, {"-b", "1M", "-e", "8"}), "the smaller size first"},
           {joined(sound, {"-f", "1"}), "-f"},
           {joined(sound, {"--precision", "nan"}), "--precision: found \"nan\", expected a number from "},
           {joined(sound, {"--max-time", "nan"}), "--max-time: found \"nan\", expected a number from "},
           {joined(sound, {"--out", folder.path("no/such/records.json")}), "found no directory"},
           {joined(sound, {"--out", folder.path("")}), "found a directory, expected a file"},
           {joined(sound, {"--out", ""}), "found an empty name"},
           {joined(sound, {"--cluster", "dgx-h100"}), "--cluster"},
           {joined(sound, {"--cluster", "[1]"}), "expected the physical facts of the machine"},
           {joined(sound, {"--cluster", R"({"gpu": 3, "gpus_per_node": 8})"}), "/gpu: found 3"},
           {{"compute", "--backend", "gloo", "--shapes", "64,64"}, "expected m,n,k;m,n,k"},
           {{"compute", "--backend", "gloo", "--shapes", "64,64,0"}, "whole numbers above zero"},
           {{"compute", "--backend", "gloo", "--like", folder.path("none.json")}, "none.json"},
           {{"step", scenario, "--backend", "gloo", "--compute", "none"}, "--compute"},
           {{"step", scenario, "--backend", "gloo", "--ranks", "3"}, "3"},
           {{"step", scenario, "--backend", "gloo", "--trace", folder.path("no/such.json")}, "--trace"},
       }) {
    INFO(message);
    CHECK_THAT(refusal(arguments), Catch::Contains(message));
  }
}

TEST_CASE("ranks that contradict the launcher are refused", "[cli][measure]") {
  if (!has_gloo()) return skip("no Gloo in this build");
  auto const rank = Variable{"RANK", "0"};
  auto const world = Variable{"WORLD_SIZE", "2"};
  auto const local = Variable{"LOCAL_RANK", "0"};
  CHECK_THAT(refusal({"collective", "--backend", "gloo", "--ranks", "3"}),
             Catch::Contains("--ranks 3: found 2 processes that the launcher started"));
}
