#include "sim/program/checks.hpp"
#include "strategies/compile.hpp"
#include "strategies/mesh/stages.hpp"
#include "strategies/plan/read_plan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using Catch::Contains;

namespace {

/// LLaMA-2-7B has 32 layers and 32 heads.
Plan plan_of(std::string const& strategy, std::int64_t gpus = 16, std::string training = R"({"global_batch": 32})") {
  return read_plan(io::parse({"training", std::move(training)}), io::parse({"strategy", strategy}), llama_2_7b(), gpus);
}

std::string refusal_of(std::string const& strategy, std::int64_t gpus = 16) {
  try {
    static_cast<void>(plan_of(strategy, gpus));
  } catch (InputError const& error) {
    return error.what();
  }
  return "it was read";
}

std::string obstacle_of(std::string const& strategy, std::int64_t gpus = 16,
                        std::string const& training = R"({"global_batch": 32})") {
  auto const obstacle = find_obstacle(llama_2_7b(), plan_of(strategy, gpus, training));
  return obstacle ? obstacle->reason + "; " + obstacle->way_out : "none";
}

}  // namespace

TEST_CASE("degrees leave the rest of the ranks data-parallel", "[mesh][plan]") {
  auto const plan = plan_of(R"({"name": "megatron", "parallel": {"tensor": 4, "pipeline": 2}})");
  CHECK(plan.parallel.data == 2);
  CHECK(plan.parallel.world() == 16);
  CHECK(accumulation(plan) == 16);  // 32 sequences over 2 ranks, one at a time
  CHECK(plan.parallel.pipeline.exchange == PipelineExchange::kBatched);
  CHECK_FALSE(plan.parallel.sequence);
  auto const torch = plan_of(R"({"name": "fsdp2", "parallel": {"tensor": 4, "pipeline": 2, "chunks": 2}})");
  CHECK(torch.parallel.sequence);
  CHECK(torch.parallel.pipeline.schedule == PipelineSchedule::kInterleaved);
  CHECK(torch.parallel.pipeline.exchange == PipelineExchange::kOverlapped);
  CHECK(plan_of(R"({"name": "megatron", "parallel": {"pipeline": 4, "schedule": "zbv"}})").parallel.pipeline.chunks ==
        2);
}

TEST_CASE("degrees that contradict each other are refused where they stand", "[mesh][plan]") {
  CHECK_THAT(refusal_of(R"({"name": "megatron", "parallel": {"tensor": 4, "pipeline": 3}})"),
             Contains("tensor 4 × pipeline 3 = 12 for 16 ranks") && Contains("use 12 or 24 ranks"));
  CHECK_THAT(refusal_of(R"({"name": "megatron", "parallel": {"tensor": 4, "data": 2}})"),
             Contains("found 2 data-parallel ranks, expected 4") && Contains("use 8 GPUs"));
  CHECK_THAT(refusal_of(R"({"name": "megatron", "parallel": {"pipeline": 4, "chunks": 3, "schedule": "zbv"}})"),
             Contains("found 3 chunks on each stage for zbv, expected 2"));
  CHECK_THAT(refusal_of(R"({"name": "deepspeed-3", "parallel": {"pipeline": 4}})"),
             Contains("ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism"));
  CHECK_THAT(refusal_of(R"({"name": "deepspeed-1", "parallel": {"pipeline": 4, "schedule": "gpipe"}})"),
             Contains("found gpipe with blocking messages"));
  CHECK_THAT(refusal_of(R"({"name": "megatron", "parallel": {"tensr": 4}})"), Contains("tensor"));
  CHECK_THAT(refusal_of(R"({"name": "megatron", "parallel": {"pipeline": 4}, "offload": {"activations": true}})"),
             Contains("found offloaded activations under a pipeline"));
}

TEST_CASE("what a model cannot be cut into is an answer with a way out", "[mesh][plan]") {
  CHECK(obstacle_of(R"({"name": "ddp", "parallel": {"tensor": 3}})", 15) ==
        "32 attention heads do not divide over 3 tensor ranks; use another number of them");
  CHECK(
      obstacle_of(R"({"name": "megatron", "parallel": {"pipeline": 5}})", 5) ==
      "32 layers do not divide over 5 stages of 1 chunks; list the layers of each part, or count embedding and head as "
      "layers");
  CHECK(
      obstacle_of(R"({"name": "megatron", "parallel": {"pipeline": 4, "layers": [8, 8, 8, 9]}})") ==
      "the 4 parts of the pipeline list 4 entries with 33 layers, the model has 32; list 4 numbers that add up to 32");
  // 32 sequences over 4 data-parallel ranks are 8 micro-batches.
  CHECK(obstacle_of(R"({"name": "megatron", "parallel": {"pipeline": 4, "chunks": 2}})") == "none");
  CHECK_THAT(obstacle_of(R"({"name": "megatron", "parallel": {"pipeline": 4, "chunks": 2, "micro_batch_group": 5}})"),
             Contains("8 micro-batches leave 3 behind groups of 5, fewer than the 4 stages"));
  CHECK_THAT(obstacle_of(R"({"name": "megatron", "parallel": {"pipeline": 8, "schedule": "dualpipev"}})", 8,
                         R"({"global_batch": 15})"),
             Contains("15 micro-batches are too few") && Contains("use 16 or more"));
}

// torchtitan counts embedding and head as a layer each: 34 over 4 are 9, 9, 8, 8; of the first and the last one is
// taken.
TEST_CASE("layers are shared out as the framework does it", "[mesh][plan]") {
  using Layers = std::vector<std::int64_t>;
  CHECK(layers_of_parts(32, {.stages = 4}) == Layers{8, 8, 8, 8});
  CHECK(layers_of_parts(32, {.stages = 4, .counts_embedding = true, .counts_head = true}) == Layers{8, 9, 8, 7});
  CHECK(layers_of_parts(5, {.stages = 2, .layers = {1, 4}}) == Layers{1, 4});
}

// The last stage of a V has the end of its first chunk, layers 12 to 15, right before the beginning of its second.
TEST_CASE("segments of recomputation end with a chunk", "[mesh][recompute]") {
  auto const plan = plan_of(R"({"name": "megatron", "parallel": {"pipeline": 4, "schedule": "zbv"},
                                "recompute": {"what": "full", "segment": 3}})",
                            16, R"({"global_batch": 64})");
  auto const compiled = compile(llama_2_7b(), plan);
  REQUIRE(std::holds_alternative<program::StepProgram>(compiled));
  CHECK_NOTHROW(program::check(std::get<program::StepProgram>(compiled)));
}

TEST_CASE("every strategy that runs a pipeline writes a sound program for every schedule", "[mesh][strategies]") {
  for (auto const& traits : kStrategies)
    for (auto const* const parallel :
         {R"({"tensor": 2, "sequence": true})", R"({"tensor": 2, "pipeline": 4})", R"({"pipeline": 4, "chunks": 2})",
          R"({"tensor": 2, "pipeline": 2, "schedule": "zbv"})", R"({"pipeline": 4, "schedule": "dualpipev"})",
          R"({"tensor": 2, "sequence": true, "pipeline": 2, "chunks": 2, "schedule": "interleaved-zb1p"})"}) {
      auto const text = std::string{parallel};
      auto const has = [&](std::string_view key) { return text.find(key) != std::string::npos; };
      if (has("pipeline") && !traits.runs_pipelines) continue;
      if (traits.family == Family::kDeepSpeed && (has("chunks") || has("schedule"))) continue;  // 1F1B alone
      INFO(traits.name << ", " << text);
      auto const plan = plan_of(R"({"name": ")" + std::string{traits.name} + R"(", "parallel": )" + text + "}", 16,
                                R"({"global_batch": 64, "clip_gradients": true})");
      auto const compiled = compile(llama_2_7b(), plan);
      REQUIRE(std::holds_alternative<program::StepProgram>(compiled));
      CHECK_NOTHROW(program::check(std::get<program::StepProgram>(compiled)));
    }
}
