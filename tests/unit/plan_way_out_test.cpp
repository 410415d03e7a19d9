#include "explore/plan/way_out.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plan_question.hpp"

using namespace twinstep;
using namespace twinstep::explore;

namespace {

/// The step of an example with settings, and what would fit if it does not.
reports::Summary answer(std::vector<std::string> const& settings) {
  auto const scenario = read_scenarios(tests::question_about("llama-2-7b-4xh100.json", settings)).front();
  auto run = std::get<Run>(run_step(scenario, {}, Checks::kNone));
  add_way_out(run, scenario);
  return run.summary;
}

/// Eight layers of LLaMA-2-7B with 128,000 tokens in their vocabulary, on eight GPUs of 18 GB.
reports::Summary of_small_gpus(std::string const& micro_batch, std::string const& strategy) {
  return answer({R"(model={"family": "llama", "layers": 8, "hidden": 4096, "heads": 32, "ffn": 11008,
                           "vocabulary": 128000})",
                 "cluster.nodes=1", R"(cluster.gpu={"memory_capacity": "18 GB"})", "training.sequence_length=4096",
                 "training.global_batch=32", "training.micro_batch=" + micro_batch, "strategy=" + strategy});
}

}  // namespace

TEST_CASE("the way out may be a smaller micro-batch together with offload", "[plan][way-out]") {
  // Four sequences have 16,384 x 128,000 = 2.1e9 logits: 4.2 GB in 16 bits and as much again for each further copy that
  // the loss makes, 25 GB in all. That does not fit, wherever states are; of one sequence it is 6 GB. Then 2.7e9
  // parameters in fp32 with two moments, 12 bytes over eight ranks, are 4 GB; gathered for the largest unit (1.05e9
  // parameters, 2.1 GB), with its gradients in both types and what is on its way, they leave no room for the rest.
  auto const asked = of_small_gpus("4", R"({"name": "fsdp2", "recompute": "full"})");
  CHECK_FALSE(asked.fits);
  CHECK_THAT(asked.way_out, Catch::StartsWith("fsdp2 + micro-batch 1 + offload parameters would fit ("));
  CHECK_THAT(asked.way_out, Catch::EndsWith(" s a step)"));
  CHECK_FALSE(of_small_gpus("1", R"({"name": "fsdp2", "recompute": "full"})").fits);
  CHECK_FALSE(of_small_gpus("4", R"({"name": "fsdp2", "recompute": "full", "offload": {"parameters": "cpu"}})").fits);
  auto const proposed =
      of_small_gpus("1", R"({"name": "fsdp2", "recompute": "full", "offload": {"parameters": "cpu"}})");
  CHECK(proposed.fits);
  CHECK(proposed.way_out.empty());
}

TEST_CASE("no strategy fits where the states are more than GPUs, hosts and drives hold", "[plan][way-out]") {
  // 200 layers of 12 x 65,536^2 parameters are 1e13: 20 TB in 16 bits, and 12 bytes each for the optimizer, 120 TB.
  // Eight GPUs have 0.7 TB, their host 2 TB, its drives 30 TB.
  auto const asked = answer({R"(model={"family": "gpt2", "layers": 200, "hidden": 65536, "heads": 64, "ffn": 262144,
                                       "vocabulary": 1000})",
                             "cluster.nodes=1", "training.sequence_length=128", "training.global_batch=8",
                             R"(strategy={"name": "ddp"})"});
  CHECK_FALSE(asked.fits);
  CHECK(asked.way_out ==
        "no strategy fits on these GPUs, at any micro-batch, however much is recomputed or offloaded: use more of them "
        "or shorter sequences");
}

TEST_CASE("the nearest way out keeps the options that were asked for", "[plan][way-out]") {
  // Four sequences of LLaMA-2-7B keep 34 s b h + ... of each layer: two fit where four do not.
  auto const asked = answer({"training.micro_batch=4", "training.global_batch=128",
                             R"(strategy={"name": "fsdp2", "reshard_after_forward": false})"});
  CHECK_FALSE(asked.fits);
  CHECK_THAT(asked.way_out, Catch::StartsWith("fsdp2 + micro-batch "));
}
