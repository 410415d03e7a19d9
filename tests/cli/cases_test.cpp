#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

/// Small files that real people have (tests/fixtures/cases), with what is right for each.

using namespace twinstep;
using namespace twinstep::tests;
using Catch::Contains;

namespace {

std::string file(std::string_view name) {
  return in_repository("tests/fixtures/cases/" + std::string{name});
}

Outcome import(std::string_view source, std::string_view name, std::vector<std::string> more = {}) {
  auto arguments = std::vector<std::string>{"import", std::string{source}, file(name)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_twinstep(arguments);
}

io::Node imported(std::string_view source, std::string_view name) {
  auto const outcome = import(source, name);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return io::parse({std::string{name}, outcome.out});
}

}  // namespace

TEST_CASE("DeepSpeed's fields go by their names as well as by their stage3_ aliases", "[cli][cases]") {
  auto const strategy = imported("deepspeed", "deepspeed-field-names.json").at("strategy");
  for (auto const* const key : {"stage3_prefetch_bucket_size", "stage3_param_persistence_threshold",
                                "stage3_max_live_parameters", "stage3_max_reuse_distance"})
    CHECK(strategy.at(key).integer() == 0);
  CHECK_THAT(import("deepspeed", "deepspeed-field-names.json").err, !Contains("changes nothing"));
}

TEST_CASE("a DeepSpeed file is Hjson: comments and commas too many", "[cli][cases]") {
  auto const strategy = imported("deepspeed", "deepspeed-hjson.json").at("strategy");
  CHECK(strategy.at("name").string() == "deepspeed-2");
  CHECK(strategy.at("reduce_bucket_size").integer() == 500'000'000);
}

TEST_CASE("a model's longest sequence is no one's training sequence: it is called a guess", "[cli][cases]") {
  CHECK_THAT(import("hf-config", "hf-long-context.json").err, Contains("131072") && Contains("a guess"));
}

TEST_CASE("accelerate's machines are nodes, and it accumulates without syncs", "[cli][cases]") {
  auto const scenario = imported("accelerate", "accelerate-two-machines.yaml");
  CHECK(scenario.at("cluster").at("nodes").integer() == 2);
  CHECK(scenario.at("strategy").at("ranks").integer() == 16);
  CHECK(scenario.at("strategy").at("accumulation").string() == "no_sync");
}

TEST_CASE("torchtitan's dtype is that of all states, and its flavors are models", "[cli][cases]") {
  auto const scenario = imported("torchtitan", "torchtitan-bf16-states.toml");
  CHECK(scenario.at("training").at("parameter_type").string() == "bf16");
  CHECK(scenario.at("model").at("name").string() == "llama3-8B");
  CHECK(scenario.at("model").at("ffn").integer() == 14'336);
}

TEST_CASE("torchtitan's mixtures of experts are said to be such", "[cli][cases]") {
  auto const outcome = import("torchtitan", "torchtitan-moe-flavor.toml");
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, Contains("mixture of experts") && !Contains("8 bits"));
}

// Llama-7B has 6,738,415,616 parameters. PyTorch's AdamW makes its two moments like the parameters, in bf16: 4 bytes a
// parameter, on 8 ranks 3.14 GiB each; with fp32 masters it would be 12 bytes, 9.4 GiB.
TEST_CASE("PyTorch's optimizers keep no masters of bf16 parameters", "[cli][cases]") {
  auto const outcome = run_twinstep({"simulate", file("pure-bf16-scenario.json"), "--json"});
  REQUIRE(outcome.exit_code == 0);
  auto const memory = io::parse({"answer", outcome.out}).at("memory");
  CHECK(memory.at("optimizer").number() == Approx(4.0 * 6'738'415'616 / 8).epsilon(0.001));
}

TEST_CASE("logs are read behind every prefix and colour", "[cli][cases]") {
  for (auto const* const name : {"log-ansi-colour.txt", "log-compose-prefix.txt", "log-mpirun-tag-output.txt"}) {
    auto const record = imported("nccl-tests", name).elements().front();
    INFO(name);
    CHECK(record.at("ranks").integer() == 2);
    CHECK(record.at("rows").elements().size() == 2);
    auto const validated =
        run_twinstep({"validate", "collectives", file(name), "--cluster",
                      R"({"gpu": "a100-sxm4-40", "gpus_per_node": 2, "nodes": 1, "intra": "nvswitch"})"});
    CHECK(validated.exit_code == 0);
  }
}

TEST_CASE("a launcher's command tells the ranks that a log does not", "[cli][cases]") {
  auto const record = imported("nccl-tests", "log-ranks-only-in-srun-line.txt").elements().front();
  CHECK(record.at("ranks").integer() == 8);  // 2 nodes × 4 tasks
  CHECK(record.at("nodes").integer() == 2);
}

TEST_CASE("programs of one rank each are told from one program of several", "[cli][cases]") {
  auto const outcome = import("nccl-tests", "log-two-programs-of-one-rank.txt");
  CHECK_THAT(outcome.err, Contains("2 programs of 1 rank each") && Contains("MPI=1"));
}

TEST_CASE("a trace of ROCm has kinds of its own", "[cli][cases]") {
  auto const folder = Scratch{};
  auto const outcome = import("kineto", "kineto-rocm-kind.json", {"--out", folder.path("step.json")});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains("gemm            30.00 us") && Contains("exposed_copy    22.00 us"));
}

// Ten products of 10 ms follow each other; the next step's copy was launched 80 ms before they end.
TEST_CASE("a step is the period of its steps, however far the host runs ahead", "[cli][cases]") {
  auto const folder = Scratch{};
  auto const outcome = import("kineto", "kineto-host-ahead.json", {"--out", folder.path("step.json")});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains(": 100.0 ms on 1 of 1 rank") && !Contains("idle"));
}

TEST_CASE("GPUs of AMD and of other makers are not taken for NVIDIA's", "[cli][cases]") {
  auto const amd = import("nccl-topology", "rccl-gcn910.xml");
  CHECK(amd.exit_code == 2);
  CHECK_THAT(amd.err, Contains("GPUs of AMD (gcn 910)"));
  auto const other = import("nccl-topology", "rccl-other-vendor-sm90.xml");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, Contains("vendor 0x1d94"));
}

TEST_CASE("NICs that GPUs meet only at the host bridge are doubted", "[cli][cases]") {
  CHECK_THAT(import("nccl-topology", "vm-nics-at-host-bridge.xml").err,
             Contains("host bridge") && Contains("GPUDirect"));
}

TEST_CASE("NVLinks that a container hides are doubted", "[cli][cases]") {
  auto const unnamed = import("nvidia-smi", "smi-nvlink-hidden-in-container.txt");
  CHECK(unnamed.exit_code == 2);
  CHECK_THAT(unnamed.err, Contains("hide NVLinks") && Contains("name the GPU's profile"));
  auto const named = import("nvidia-smi", "smi-nvlink-hidden-in-container.txt", {"--gpu", "h20-sxm-96"});
  CHECK(named.exit_code == 0);
  CHECK_THAT(named.err, Contains("shows no NVLink"));
}

TEST_CASE("a node given as a cluster gets the sentence that helps", "[cli][cases]") {
  auto const outcome = run_twinstep(
      {"collective", file("node-given-as-cluster.json"), "--op", "all_reduce", "--ranks", "8", "-b", "1M", "-e", "1M"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, Contains("node profile") && Contains("cluster.node"));
}

// Measured: 8.01 s with attention that is not fused (the record's), and 761 ms where the second card has fewer lanes.
TEST_CASE("an answer says what it assumes, what says the contrary, and what that comes to", "[cli][cases]") {
  auto const attention = run_twinstep({"simulate", file("attention-default.json")});
  CHECK_THAT(attention.out, Contains("attention is one fused kernel") && Contains(" 8.01") &&
                                Contains("--set 'training.flash_attention=false'"));
  auto const slots = run_twinstep({"simulate", file("two-consumer-gpus-no-p2p.json")});
  CHECK_THAT(slots.out,
             Contains("a full slot") && Contains("698.5 ms") && Contains("--set 'cluster.node.gpu_link=7.875 GB/s'"));
  auto const said =
      run_twinstep({"simulate", file("attention-default.json"), "--set", "training.flash_attention=true"});
  CHECK_THAT(said.out, !Contains("one fused kernel"));
}

// Each of a rack's 72 GPUs sends 64 MiB / 144 to each of the other rack's 72: 33.55 MB, through n NICs 72/n times that,
// and 1.5 % of headers. Where trays have fewer NICs than others, or none, a GPU goes over NVLink to one that has.
TEST_CASE("traffic of a rack is even over its NICs, however many its trays have", "[cli][cases]") {
  for (auto const& [nics, bytes] :
       {std::pair{"9", "272.5 MB"}, {"12", "204.4 MB"}, {"24", "102.2 MB"}, {"36", "68.1 MB"}}) {
    auto const outcome = run_twinstep({"collective", "gb200-nvl72-ndr", "--set", "cluster.nodes=2", "--set",
                                       std::string{"cluster.fabric.ports_per_node="} + nics, "--op", "all_to_all", "-b",
                                       "64M", "-e", "64M", "--explain"});
    INFO(nics << " NICs: " << outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Contains(bytes));
  }
}
