#include <algorithm>
#include <filesystem>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

std::string dump(std::string_view name) {
  return in_repository("tests/fixtures/topo/" + std::string{name});
}

}  // namespace

TEST_CASE("import prints a profile that profiles check accepts, and what is odd on standard error", "[cli][import]") {
  auto const folder = Scratch{};
  auto const from = {std::pair{"nccl-topology", "oci-bm-gpu-h100-8-topo.xml"},
                     std::pair{"nvidia-smi", "nvidia-smi-topo-dgx-a100-40gb.txt"}};
  for (auto const& [source, name] : from) {
    auto const printed = run_twinstep({"import", source, dump(name)});
    CHECK(printed.exit_code == 0);
    CHECK(io::parse({name, printed.out}).at("gpus").at("value").integer() == 8);
    CHECK_THAT(printed.err, Catch::Contains("warning: "));
    CHECK_THAT(printed.err, Catch::Contains("cannot know the fabric beyond the NICs") ||
                                Catch::Contains("cannot know the GPUs' model"));
    auto const written = run_twinstep({"import", source, dump(name), "--out", folder.path("node.json")});
    CHECK(written.exit_code == 0);
    CHECK(written.out.empty());
    CHECK(read_file(folder.path("node.json")) == printed.out);
    CHECK(run_twinstep({"profiles", "check", folder.path("node.json")}).exit_code == 0);
  }
}

TEST_CASE("import refuses links that lead to their own GPU unless it may leave them out", "[cli][import]") {
  auto const refused = run_twinstep({"import", "nccl-topology", dump("azure-ncv4-topo.xml")});
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.err, Catch::Contains("lead to the GPU itself") && Catch::Contains("import it repaired"));
  auto const repaired = run_twinstep({"import", "nccl-topology", dump("azure-ncv4-topo.xml"), "--repair"});
  CHECK(repaired.exit_code == 0);
  CHECK_THAT(repaired.err, Catch::Contains("lead to the GPU itself: left out"));
}

TEST_CASE("import of what is no such file is one line and exit 2", "[cli][import]") {
  auto const folder = Scratch{};
  auto const file = folder.write("a.txt", "hello\n");
  for (auto const* const source : {"nccl-topology", "nvidia-smi", "nccl-tests"}) {
    auto const refused = run_twinstep({"import", source, file});
    CHECK(refused.exit_code == 2);
    CHECK(std::ranges::count(refused.err, '\n') == 1);
    CHECK(run_twinstep({"import", source, folder.path("none")}).exit_code == 2);
  }
}

TEST_CASE("import nccl-tests prints records", "[cli][import]") {
  auto const outcome = run_twinstep({"import", "nccl-tests", in_repository("tests/fixtures/nccl_tests.log")});
  CHECK(outcome.exit_code == 0);
  CHECK(io::parse({"records", outcome.out}).elements().size() == 2);
  CHECK_THAT(outcome.err, Catch::Contains("is cut off"));
}

TEST_CASE("import nccl-tests reads the program's JSON, in-place rows too", "[cli][import]") {
  auto const outcome = run_twinstep({"import", "nccl-tests", in_repository("tests/fixtures/nccl_tests.json")});
  CHECK(outcome.exit_code == 0);
  auto const record = io::parse({"records", outcome.out}).elements().at(0);
  CHECK(record.at("ranks").integer() == 4);
  CHECK(record.at("rows_in_place").elements().at(0).elements().at(1).number() == 39.5);
}

TEST_CASE("import kineto makes a timeline that compare takes beside a predicted one", "[cli][import]") {
  auto const folder = Scratch{};
  auto const trace = folder.path("trace.json");
  auto const imported = run_twinstep({"import", "kineto", in_repository("tests/fixtures/kineto/rank0.json"),
                                      in_repository("tests/fixtures/kineto/rank1.json"), "--out", trace});
  INFO(imported.err);
  REQUIRE(imported.exit_code == 0);
  // From 2020 us, where rank 1's host begins step 2, to the end of rank 0's fill at 2750.5 us.
  CHECK_THAT(imported.out, Catch::Contains("step 2: 730.5 us on 2 of 2 ranks") &&
                               Catch::Contains("Steps by the host") && Catch::Contains("all_reduce"));
  folder.write("small.json", small_scenario());
  REQUIRE(run_twinstep({"simulate", "small.json", "--trace", "ours.json"}, folder.path("")).exit_code == 0);
  auto const compared = run_twinstep({"compare", "ours.json", "trace.json", "--json"}, folder.path(""));
  CHECK(compared.exit_code == 0);
  CHECK(io::parse({"compare", compared.out}).at("step_time").at("b_s").number() == Approx(730.5e-6));
  // The trace as the profiler wrote it, and our own through the importer.
  CHECK(run_twinstep({"compare", trace, in_repository("tests/fixtures/kineto/rank0.json")}).exit_code == 0);
  CHECK(run_twinstep({"import", "kineto", trace}).out == read_file(trace));
}

TEST_CASE("import step-times makes step records", "[cli][import]") {
  auto const folder = Scratch{};
  auto const file = folder.write("run.csv", "rank,step,time_s\n0,1,0.5\n1,1,0.6\n0,2,0.5\n1,2,0.4\n");
  auto const outcome = run_twinstep({"import", "step-times", file});
  CHECK(outcome.exit_code == 0);
  auto const record = io::parse({"records", outcome.out}).elements().at(0);
  CHECK(record.at("ranks").integer() == 2);
  CHECK(record.at("measured").at("step_time_s").number() == Approx(0.55));  // between 0.6 and 0.5
}

TEST_CASE("import turns other programs' configurations into scenarios with blanks", "[cli][import]") {
  auto const folder = Scratch{};
  auto const file = [](std::string const& name) { return in_repository("examples/" + name); };
  auto const from = {std::pair{"deepspeed", file("configs/deepspeed-zero3.json")},
                     std::pair{"accelerate", file("configs/accelerate-fsdp.yaml")},
                     std::pair{"torchtitan", file("configs/torchtitan-llama.toml")}};
  for (auto const& [source, path] : from) {
    INFO(source);
    auto const imported = run_twinstep({"import", source, path, "--out", folder.path("ours.json")});
    CHECK(imported.exit_code == 0);
    CHECK_THAT(imported.err, Catch::Contains("fill in CLUSTER and PATH"));
    auto const answer =
        run_twinstep({"simulate", folder.path("ours.json"), "--json", "--set", "cluster.profile=dgx-h100-ndr", "--set",
                      "cluster.nodes=4", "--set", "model.hf_config=" + file("models/llama-2-7b/config.json")});
    INFO(answer.err);
    CHECK(answer.exit_code == 0);
    CHECK(io::parse({"answer", answer.out}).at("step_time_s").number() > 0);
  }
  // Megatron-LM's arguments are the model's too: 4 nodes are in the script, the machine is not.
  auto const megatron =
      run_twinstep({"import", "megatron", file("configs/megatron-7b.sh"), "--out", folder.path("ours.json")});
  CHECK(megatron.exit_code == 0);
  CHECK_THAT(megatron.err, Catch::Contains("fill in CLUSTER") && !Catch::Contains("PATH"));
  CHECK(run_twinstep({"simulate", folder.path("ours.json"), "--set", "cluster.profile=dgx-h100-ndr"}).exit_code == 0);
  auto const model = run_twinstep({"import", "hf-config", file("models/llama-2-7b/config.json")});
  CHECK(model.exit_code == 0);
  CHECK(io::parse({"model", model.out}).at("training").at("sequence_length").integer() == 4096);
  CHECK_THAT(model.err, Catch::Contains("fill in CLUSTER and STRATEGY"));
}

TEST_CASE("an imported scenario names its model from where it lies", "[cli][import]") {
  auto const folder = Scratch{};
  for (auto const* const name : {"models", "ours"}) std::filesystem::create_directory(folder.path(name));
  folder.write("models/config.json", read_file(in_repository("examples/models/llama-2-7b/config.json")));
  auto const import = [&](std::string const& out) {
    return run_twinstep({"import", "hf-config", "models/config.json", "--out", out}, folder.path(""));
  };
  REQUIRE(import("ours/scenario.json").exit_code == 0);
  auto const scenario = io::parse_file(folder.path("ours/scenario.json"));
  CHECK(scenario.at("model").at("hf_config").string() == "../models/config.json");
  CHECK(run_twinstep({"simulate", "ours/scenario.json", "--set", "cluster.profile=dgx-h100-ndr", "--set",
                      "strategy.name=zero-3"},
                     folder.path(""))
            .exit_code == 0);
  // What is written to a device lies nowhere: it is named from where the command ran.
  CHECK_THAT(run_shell("TWINSTEP import hf-config models/config.json --out /dev/stdout | cat", folder.path("")).out,
             Catch::Contains("\"models/config.json\""));
}

TEST_CASE("a scenario's own values go before those of the user's file, whose gaps it fills", "[cli][import]") {
  auto const folder = Scratch{};
  folder.write("ds.json", R"({"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": true},
                              "zero_optimization": {"stage": 2, "mics_shard_size": 8}})");
  auto const scenario = [&](std::string const& training) {
    return folder.write("scenario.json",
                        R"({"cluster": {"profile": "dgx-h100-ndr", "nodes": 2},
                            "model": {"family": "llama", "layers": 2, "hidden": 1024, "heads": 8},
                            "training": )" +
                            training + R"(, "strategy": {"deepspeed_config": "ds.json", "name": "zero-2"}})");
  };
  auto const open = run_twinstep({"simulate", scenario("{}")});
  CHECK(open.exit_code == 0);
  CHECK_THAT(open.err, Catch::Contains("ds.json:1:36: /train_micro_batch_size_per_gpu is \"auto\"") &&
                           Catch::Contains("/zero_optimization/mics_shard_size is not modelled"));
  auto const filled = run_twinstep({"simulate", scenario(R"({"micro_batch": 2})")});
  CHECK(filled.exit_code == 0);
  CHECK(std::ranges::count(filled.err, '\n') == 1);  // the key that is not modelled
  CHECK_THAT(filled.out, Catch::Contains("zero-2"));
}

TEST_CASE("what is damaged, empty, binary or of another kind is one line, exit 2 and no file", "[cli][import]") {
  auto const source = GENERATE(values<std::string>({"nccl-topology", "nvidia-smi", "nccl-tests", "kineto", "step-times",
                                                    "deepspeed", "accelerate", "torchtitan", "megatron", "hf-config"}));
  auto const folder = Scratch{};
  auto const trace = read_file(in_repository("tests/fixtures/kineto/rank0.json"));
  auto const binary = std::string{
      "\x7f"
      "ELF\x02\x01\0\0\xff\xfe\n\x01\x02",
      14};
  folder.write("empty", "");
  folder.write("binary", binary);
  folder.write("cut.json", std::string_view{trace}.substr(0, trace.size() / 2));
  folder.write("line", std::string(1'000'000, 'x'));
  folder.write("bad.gz", "\x1f\x8b garbage");
  folder.write("profile.json", R"({"name": "h100", "memory_capacity": "80 GB"})");
  for (auto const* const file : {"empty", "binary", "cut.json", "line", "bad.gz", "profile.json", "nowhere"}) {
    auto const refused = run_twinstep({"import", source, file, "--out", "result.json"}, folder.path(""));
    INFO(source << " " << file << ": " << refused.err);
    CHECK(refused.exit_code == 2);
    CHECK(refused.out.empty());
    CHECK(std::ranges::count(refused.err, '\n') == 1);
    CHECK_THAT(refused.err, Catch::StartsWith(std::string{"twinstep: "} + file));
    CHECK(refused.err.size() < 1000);
    CHECK(std::ranges::count(folder.files(), "result.json") == 0);
  }
}
