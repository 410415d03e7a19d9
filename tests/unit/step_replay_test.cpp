#include "validate/study/step_replay.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/read_step.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using strategies::StrategyName;

namespace {

strategies::Transformer model(std::string const& record) {
  return std::get<strategies::Transformer>(study::model_of(read_step(record).model));
}

study::StepReplay replay(std::string const& record) {
  return std::get<study::StepReplay>(study::replay_of(read_step(record), std::nullopt));
}

std::string reason(std::string const& record) {
  auto const answer = study::replay_of(read_step(record), std::nullopt);
  return std::holds_alternative<study::NotReplayed>(answer) ? std::get<study::NotReplayed>(answer).reason : "replayed";
}

std::string foundry(std::string const& from, std::string const& to) {
  return changed(foundry_record(), from, to);
}

}  // namespace

TEST_CASE("a record's model has as many parameters as the record says", "[steps]") {
  // 48 (12 h² + 13 h) + (50368 + 2048 + 2) h: GPT-2 with biases, learned positions and a tied head.
  auto const mpt = model(foundry_record());
  CHECK(strategies::parameter_count(mpt) == 29'975'214'080);
  CHECK_FALSE(mpt.gated_mlp);
  CHECK(mpt.positions == 2048);

  // 32 (2 h² + 2 · 1024 h + 3 · 14336 h + 2 h) + 2 · 128256 h + h: LLaMA 3 8B, its positions not stated.
  auto const llama = model(R"({"id": "llama", "parallelism": {}, "measured": {},
    "model": {"params": 8030261248, "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336,
              "vocab": 128256, "seq_len": 8192, "tied_embeddings": false}})");
  CHECK(strategies::parameter_count(llama) == 8'030'261'248);
  CHECK(llama.gated_mlp);
  CHECK(llama.kv_width() == 1024);
  CHECK(llama.has_rotary_embedding());

  // 36 (4 h² + 8 h² + 13 h) + 50257 h + 1024 h + 2 h: GPT-2 Large, rounded by its source, nothing else stated.
  auto const gpt2 = model(R"({"id": "gpt2", "parallelism": {}, "measured": {},
    "model": {"params": 774e6, "layers": 36, "hidden": 1280, "heads": 20, "ffn": 5120, "vocab": 50257,
              "seq_len": 1024}})");
  CHECK(strategies::parameter_count(gpt2) == 774'030'080);
  CHECK(gpt2.tied_embeddings);
}

TEST_CASE("a stated head size decides the width of attention", "[steps]") {
  // Twice as wide: 48 · 4 · 7168² parameters more.
  auto const wide =
      model(changed(foundry(R"("heads": 56)", R"("heads": 56, "head_dim": 256)"), "29975214080", "39.8e9"));
  CHECK(wide.query_width() == 56 * 256);
}

TEST_CASE("a record's words become a plan on its machine", "[steps]") {
  auto const full_shard = replay(foundry_record());
  CHECK(full_shard.scenario.plan.strategy == StrategyName::kFsdp1);
  CHECK(full_shard.scenario.plan.states.parameter_type == DataType::kFp32);  // mixed precision casts for each use
  CHECK(full_shard.scenario.plan.states.optimizer == strategies::Optimizer::kAdamWForeach);
  CHECK(full_shard.scenario.plan.kernels.recompute == strategies::Recompute::kFull);
  CHECK(full_shard.scenario.plan.kernels.precision == DataType::kBf16);
  CHECK(full_shard.scenario.plan.parallel.data == 128);
  CHECK(full_shard.scenario.cluster->nodes() == 16);
  CHECK(full_shard.scenario.cluster->stack.name == "composer");
  CHECK(full_shard.near_to.empty());
  CHECK(full_shard.assumed.empty());

  using enum strategies::Fsdp1Options::Sharding;
  CHECK(replay(foundry(R"("FULL_SHARD")", R"("SHARD_GRAD_OP")"))
            .scenario.plan.strategy.get<strategies::Fsdp1Options>()
            .sharding == kShardGradOp);
  CHECK(replay(foundry(R"("FULL_SHARD")", R"("FSDP2")")).scenario.plan.strategy == StrategyName::kFsdp2);
  auto const deepspeed = changed(foundry("Composer FSDP", "DeepSpeed"), R"("fsdp_mode": "FULL_SHARD", )", "");
  CHECK(replay(deepspeed).scenario.plan.strategy == StrategyName::kDeepSpeed3);
  CHECK(replay(deepspeed).scenario.cluster->stack.name == "deepspeed");
  auto const group =
      replay(foundry(R"("zero_stage": 3, "fsdp_mode": "FULL_SHARD")", R"("zero_stage": 1, "zero1_group": 8)"));
  CHECK(group.scenario.plan.strategy == StrategyName::kZero1);
  CHECK(group.scenario.plan.parallel.shard_group == 8);
  CHECK(replay(foundry(R"("torch_compile": false)", R"("torch_compile": true)")).scenario.cluster->stack.name ==
        "pytorch-compiled");
}

TEST_CASE("a convolutional network is the published one of its name", "[steps]") {
  auto const record = foundry(R"("name": "MPT-30b")", R"("name": "resnet50", "kind": "CNN")");
  CHECK(model_name(replay(record).scenario.model) == "resnet50");
  CHECK_THAT(reason(changed(record, "resnet50", "lenet5")), Catch::Contains("no transformer: a CNN called lenet5"));
}

TEST_CASE("llm-foundry's loss is fused", "[steps]") {
  CHECK(replay(foundry_record()).scenario.plan.kernels.cross_entropy == strategies::CrossEntropy::kFused);
  CHECK(replay(foundry("Composer FSDP", "FSDP")).scenario.plan.kernels.cross_entropy ==
        strategies::CrossEntropy::kPlain);
}

TEST_CASE("InternEvo wraps 16-bit parameters by FSDP, each module apart, and its optimizer has the masters",
          "[steps]") {
  auto const plan = replay(foundry("Composer FSDP", "InternEvo, FSDP")).scenario.plan;
  CHECK(plan.strategy == StrategyName::kFsdp1);
  CHECK(held_type(plan) == DataType::kBf16);
  CHECK(has_master_copy(plan));
  CHECK(plan.strategy.get<strategies::Fsdp1Options>().forward_prefetch);
  CHECK_FALSE(plan.strategy.get<strategies::Fsdp1Options>().shards_root);
  CHECK(plan.states.clips_gradients);
}

TEST_CASE("8-bit precision is that of linear layers", "[steps]") {
  auto const plan = replay(foundry("bf16 AMP", "float8 rowwise AMP")).scenario.plan;
  CHECK(plan.kernels.precision == DataType::kBf16);
  CHECK(plan.kernels.linear_type == DataType::kFp8);
  CHECK(plan.kernels.scaling == strategies::Scaling::kRowWise);
}

TEST_CASE("who casts to 8 bits, and how, follows from the words of the precision and the software", "[steps]") {
  using enum strategies::Scaling;
  auto const scaling = [](std::string const& precision, std::string const& stack) {
    return replay(changed(foundry("bf16 AMP", precision), "Composer FSDP", stack)).scenario.plan.kernels.scaling;
  };
  CHECK(scaling("float8 tensorwise", "torchtitan") == kTensorWise);
  CHECK(scaling("TransformerEngine fp8", "Composer FSDP") == kDelayed);
  CHECK(scaling("FP8 (TE hybrid)", "NeMo") == kDelayed);
  CHECK(scaling("FP8-CS", "Megatron-Bridge") == kCurrent);
}

TEST_CASE("a precision is known by each of its names", "[steps]") {
  auto const precision = [](std::string const& words) {
    return replay(foundry("bf16 AMP", words)).scenario.plan.kernels.precision;
  };
  CHECK(precision("bfloat16") == DataType::kBf16);
  CHECK(precision("half") == DataType::kFp16);
  CHECK(precision("float32") == DataType::kFp32);
  CHECK(precision("mixed") == DataType::kFp16);  // of the years before bf16
}

TEST_CASE("hybrid sharding is that within nodes", "[steps]") {
  auto const hybrid = replay(foundry("FULL_SHARD", "HYBRID_SHARD")).scenario.plan;
  CHECK(hybrid.strategy.get<strategies::Fsdp1Options>().sharding == strategies::Fsdp1Options::Sharding::kHybridShard);
  CHECK(hybrid.parallel.shard_group == 8);
  auto const second = replay(foundry("FULL_SHARD", "FSDP2 HSDP")).scenario.plan;
  CHECK(second.strategy == StrategyName::kFsdp2);
  CHECK(second.parallel.shard_group == 8);
}

TEST_CASE("DeepSpeed offloads its optimizer or all, FSDP all to the CPU, and others nothing", "[steps]") {
  auto const deepspeed = changed(foundry("Composer FSDP", "DeepSpeed"), R"("fsdp_mode": "FULL_SHARD", )", "");
  auto const plan = [&](std::string const& words) {
    return replay(changed(deepspeed, R"("offload": "none")", R"("offload": ")" + words + '"')).scenario.plan;
  };
  using enum strategies::OffloadPlace;
  CHECK(plan("optimizer to CPU").states.offload.optimizer == kCpu);
  CHECK(plan("optimizer to CPU").states.offload.parameters == kNone);
  CHECK(plan("params+optimizer to NVMe").states.offload.parameters == kNvme);
  auto const fsdp = replay(foundry(R"("offload": "none")", R"("offload": "params+grads to CPU")")).scenario.plan;
  CHECK(fsdp.states.offload.optimizer == kCpu);
  CHECK(fsdp.states.offload.parameters == kCpu);
  CHECK(reason(foundry(R"("offload": "none")", R"("offload": "optimizer to NVMe")")) == "offload: optimizer to NVMe");
}

TEST_CASE("words of recomputation become a policy and its scope", "[steps]") {
  auto const plan = [](std::string const& words) {
    return replay(foundry("full (per block, non-reentrant)", words)).scenario.plan;
  };
  CHECK(plan("selective (per-op)").kernels.recompute == strategies::Recompute::kPerOp);
  CHECK(plan("selective").kernels.recompute == strategies::Recompute::kSelective);
  CHECK(plan("selective (every 2nd layer)").kernels.recompute == strategies::Recompute::kFull);
  CHECK(plan("selective (every 2nd layer)").kernels.recompute_scope.every == 2);
  CHECK(plan("full, every 3rd layer").kernels.recompute_scope.every == 3);
  CHECK(plan("selective (core attention)").kernels.recompute == strategies::Recompute::kSelective);
  CHECK(plan("none").kernels.recompute == strategies::Recompute::kNone);
}

TEST_CASE("a step program of ours runs on no framework", "[steps]") {
  CHECK(replay(foundry(R"({"id")", R"({"measurement": "step", "id")")).scenario.cluster->stack.name == "none");
}

TEST_CASE("what a record leaves out is assumed and said", "[steps]") {
  auto const silent = replay(foundry(R"~("full (per block, non-reentrant)", "flash_attention": true)~", "null"));
  CHECK(silent.assumed == std::vector<std::string>{"no recomputation", "fused attention"});
  auto const once = replay(foundry(R"("global_batch": 1024, "grad_accum": 1)", R"("global_batch": null)"));
  CHECK(once.scenario.plan.batch.global_batch == 1024);
  CHECK(once.assumed == std::vector<std::string>{"one micro-batch a step"});
  // 1024 samples on 128 ranks: 8 of each, two times 4.
  auto const parts = replay(foundry(R"("micro_batch": 8, "global_batch": 1024, "grad_accum": 1)",
                                    R"("micro_batch": null, "global_batch": 1024, "grad_accum": null)"));
  CHECK(parts.scenario.plan.batch.micro_batch == 4);
  CHECK(parts.assumed == std::vector<std::string>{"micro-batches of 4"});
  auto const lion = replay(foundry("DecoupledAdamW (fp32 states)", "Lion"));
  CHECK(lion.near_to == std::vector<std::string>{"Lion by AdamW"});
}

TEST_CASE("a micro-batch follows from the batch and its accumulation", "[steps]") {
  auto const derived = replay(foundry(R"("micro_batch": 8)", R"("micro_batch": null)"));
  CHECK(derived.scenario.plan.batch.micro_batch == 8);
  CHECK(derived.assumed.empty());
}

TEST_CASE("what cannot be replayed says why", "[steps]") {
  CHECK(reason(foundry(R"("pp": 1)", R"("pp": 1, "cp": 8)")) == "context parallelism: 8");
  CHECK(reason(foundry(R"("layers":)", R"("moe": {"experts": 8}, "layers":)")) == "a mixture of experts");
  CHECK(reason(foundry("29975214080", "60e9")) == "contradictory model: 6e+10 parameters, its sizes make 3.98e+10");
  CHECK(reason(foundry(R"("pp": 1)", R"("pp": 4)")) == "a pipeline of fsdp1");
  auto const on_a100 = changed(foundry("bf16 AMP", "TransformerEngine fp8 AMP"), "h100-80g", "a100-80g");
  CHECK(reason(on_a100) == "a100-sxm4-80 has no rate for fp8");
  CHECK_THAT(reason(foundry(R"("offload": "none")", R"("offload": "optimizer=cpu")")), Catch::Contains("offload"));
  CHECK_THAT(reason(foundry(R"("full (per)", R"("selective (per)")), Catch::Contains("recomputation: selective"));
  CHECK(reason(foundry(R"("micro_batch": 8, "global_batch": 1024)", R"("micro_batch": null, "global_batch": null)")) ==
        "not stated: the micro-batch");
  CHECK_THAT(reason(foundry(R"("grad_accum": 1)", R"("grad_accum": 2)")), Catch::Contains("contradictory batch"));
  CHECK_THAT(reason(foundry(R"("dp": 128)", R"("dp": 256)")), Catch::Contains("contradictory batch"));
  CHECK_THAT(reason(foundry(R"("nodes": 16)", R"("nodes": 8)")), Catch::Contains("128 ranks on a cluster of 64 GPUs"));
  CHECK_THAT(reason(foundry("h100-80g", "h101-80g")), Catch::Contains("h100-80g"));
  CHECK_THAT(reason(foundry(R"("seq_len": 2048)", R"("seq_len": null)")),
             Catch::Contains("not stated: the model's \"seq_len\""));
  CHECK_THAT(reason(foundry(R"("name": "MPT-30b")", R"("kind": "CNN")")), Catch::Contains("no transformer: a CNN"));
}
