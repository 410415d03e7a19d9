#include <string>
#include <vector>

#include "tests/cli/refusals.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep::tests;

namespace {

/// Runs the small scenario with these --set, as `--json`.
Outcome simulate_with(std::vector<std::string> const& settings) {
  auto const folder = Scratch{};
  folder.write("small.json", small_scenario());
  auto arguments = std::vector<std::string>{"simulate", "small.json", "--json"};
  for (auto const& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return run_twinstep(arguments, folder.path(""));
}

struct Extreme {
  std::vector<std::string> settings;
  std::vector<std::string> says;
};

}  // namespace

TEST_CASE("a step longer than the simulated clock is the question's fault, not the program's", "[cli]") {
  // One bit a second: the gradients of 30 million parameters alone take 15 years.
  auto const settings = GENERATE(values<std::vector<std::string>>({
      {"cluster.node.nic=1 b/s"},
      {"cluster.node.gpu_link=1 b/s"},
      {"cluster.fabric.port=1 b/s"},
      {"cluster.gpu.memory_bandwidth=1 b/s"},
      {"cluster.gpu.peaks.bf16=1 FLOP/s"},
      {"cluster.gpu.efficiency.gemm_half_k=1e9", "cluster.gpu.peaks.bf16=1 GFLOP/s"},
      {"training.sequence_length=2147483648"},
  }));
  check_refusal(simulate_with(settings),
                {"twinstep: small.json: zero-3: ", "beyond the simulated clock", "106 days", "smaller model or batch"});
}

TEST_CASE("memory that 63 bits do not count is refused, not wrapped to a negative number", "[cli]") {
  check_refusal(simulate_with({"cluster.gpu.context_memory=9000 PB", "cluster.library.buffers=9000 PB"}),
                {"twinstep: small.json: zero-3: ", "more bytes than 63 bits count"});
}

TEST_CASE("a machine's number that no machine has is refused at its place", "[cli]") {
  auto const each = GENERATE(values<Extreme>({
      {{"cluster.node.nic=1e-300 b/s"}, {"/cluster/node/nic: ", "\"1e-300 b/s\"", "correct its number or its unit"}},
      {{"cluster.node.nic=1e200 TB/s"}, {"/cluster/node/nic: ", "\"1e200 TB/s\""}},
      {{"cluster.gpu.efficiency.gemm=1e-300"}, {"/efficiency/gemm: ", "found 1e-300", "at least 1e-09"}},
      {{"cluster.gpu.efficiency.gemm_half_k=1e300"}, {"/gemm_half_k: ", "found 1e+300", "lower it"}},
      {{"cluster.fabric.levels.0.oversubscription=1e308"}, {"/oversubscription: ", "found 1e+308", "lower it"}},
      {{"cluster.node.nics=9007199254740992"}, {"/nics: ", "at most 1024", "lower it"}},
      {{"cluster.node.host.launch=9000000 s"}, {"/host/launch: ", "\"9000000 s\"", "at most an hour"}},
      {{"cluster.fabric.levels.0.hop_latency=2 h"}, {"/hop_latency: ", "\"2 h\"", "at most an hour"}},
      {{"cluster.node.gpus=100000"}, {"/cluster/node/gpus: ", "found 100000", "at most 1024"}},
  }));
  check_refusal(simulate_with(each.settings), each.says);
}

TEST_CASE("training that cannot be simulated in time and memory is refused at its place", "[cli]") {
  auto const each = GENERATE(values<Extreme>({
      // 2^31 sequences in micro-batches of 1 on 16 ranks: 134,217,728 micro-batches.
      {{"training.global_batch=2147483648"},
       {"/training/global_batch: ", "found 134217728 micro-batches of 4 units", "at most 125000 units",
        "lower global_batch"}},
      {{"training.global_batch=null", "training.sequence_length=1", "training.micro_batch=2147483648"},
       {"/training/micro_batch: ", "expected a global batch of at most 2147483648", "lower micro_batch"}},
      // 2^31 sequences of 2^31 tokens, each 32,000 logits.
      {{"training.global_batch=null", "training.micro_batch=2147483648", "training.sequence_length=2147483648"},
       {"/training/micro_batch: ", "activations", "lower micro_batch or sequence_length"}},
  }));
  check_refusal(simulate_with(each.settings), each.says);
}

TEST_CASE("the slowest parts that are allowed still give an answer", "[cli]") {
  auto const outcome = simulate_with({"cluster.gpu.efficiency.gemm=0.000001", "cluster.node.host.launch=1 s",
                                      "cluster.node.nic=1 Mb/s", "cluster.fabric.transport.step_latency=1 s"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, !Catch::Contains(": -"));  // nothing wrapped below zero
}

TEST_CASE("only the types that can be trained in are proposed", "[cli]") {
  auto const outcome = simulate_with({"training.precision=int9"});
  check_refusal(outcome, {"found \"int9\", expected one of bf16, fp16, tf32, fp32, fp64; known: bf16"});
  CHECK_THAT(outcome.err, !Catch::Contains("int8"));
}

TEST_CASE("a --set with a path of any length is refused in one line", "[cli]") {
  auto path = std::string{"cluster"};
  for (auto i = 0; i < 50'000; ++i) path += ".a";
  auto const outcome = simulate_with({path + "=1"});
  check_refusal(outcome, {"\"--set cluster.a.a", "more than 128 names"});
  CHECK(outcome.err.size() < 250);
}

TEST_CASE("files of small formats have small limits, and nothing that a file says reaches the terminal as a command",
          "[cli]") {
  auto const folder = Scratch{};
  for (auto const& [format, size] : {std::pair{"deepspeed", 70'000},
                                     {"hf-config", 1'100'000},
                                     {"nvidia-smi", 5'000'000},
                                     {"nccl-topology", 5'000'000}}) {
    auto const file = folder.write(format, std::string(static_cast<std::size_t>(size), ' '));
    check_refusal(run_twinstep({"import", format, file}), {std::to_string(size) + " bytes", "at most"});
  }
  auto const named = folder.write("named.json", "{\"\\u202e\xe2\x80\xae\\u001b[31m\": 1, \"zero_optimization\": {}}");
  auto const outcome = run_twinstep({"import", "deepspeed", named});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.find("\\u202e\\u202e\\x1b[31m is an unknown key") != std::string::npos);
  CHECK(outcome.err.find('\x1b') == std::string::npos);
  CHECK(outcome.err.find("\xe2\x80\xae") == std::string::npos);
}
