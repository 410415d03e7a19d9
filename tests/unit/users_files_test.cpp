#include <limits>

#include "sim/io/document_text.hpp"
#include "sim/io/other_formats.hpp"
#include "strategies/import/users_file.hpp"
#include "strategies/model/read_model.hpp"
#include "strategies/plan/read_plan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using Catch::Contains;

namespace {

UsersFile deepspeed(std::string const& text) {
  return read_users_file(UsersFormat::kDeepSpeed, {"ds.json", text});
}

UsersFile accelerate(std::string const& text) {
  return read_users_file(UsersFormat::kAccelerate, {"fsdp.yaml", text});
}

UsersFile torchtitan(std::string const& text) {
  return read_users_file(UsersFormat::kTorchtitan, {"train.toml", text});
}

UsersFile megatron(std::string const& text) {
  return read_users_file(UsersFormat::kMegatron, {"run.sh", text});
}

/// The plan of a file alone, for LLaMA-2-7B on 16 GPUs.
Plan plan_of(UsersFile const& file) {
  return read_plan(file.training.node(), file.strategy.node(), llama_2_7b(), 16);
}

template <class Read>
std::string refusal_of(Read read, std::string const& text) {
  try {
    static_cast<void>(plan_of(read(text)));
  } catch (InputError const& error) {
    return error.what();
  }
  return "it was read";
}

std::string yaml_as_json(std::string const& text) {
  return io::document_text(io::parse_yaml({"a.yaml", text}));
}

std::string toml_as_json(std::string const& text) {
  return io::document_text(io::parse_toml({"a.toml", text}));
}

}  // namespace

TEST_CASE("YAML is read with the types that PyYAML gives it", "[import]") {
  CHECK(yaml_as_json("a: yes\nb: 'no'\nc: 1e8\nd: [1, -2.5, ~]\ne:\nf: x y\n") ==
        R"({"a": true, "b": "no", "c": 100000000, "d": [1, -2.5, null], "e": null, "f": "x y"})"
        "\n");
  CHECK(yaml_as_json("a: &x {b: 1}\nc: *x\n") == "{\"a\": {\"b\": 1}, \"c\": {\"b\": 1}}\n");
}

TEST_CASE("a map takes the keys of those that it merges, and its own before them", "[import]") {
  constexpr auto kBase = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\n";
  auto const merged = [&](std::string const& map) {
    auto const text = yaml_as_json(kBase + ("c: " + map + "\n"));
    return text.substr(text.find("\"c\": ") + 5);
  };
  CHECK(merged("{<<: *a, y: 5}") == "{\"y\": 5, \"x\": 1}}\n");
  CHECK(merged("{y: 5, <<: *a}") == "{\"y\": 5, \"x\": 1}}\n");
  CHECK(merged("{<<: [*a, *b]}") == "{\"x\": 1, \"y\": 2, \"z\": 4}}\n");  // the first of a list wins
  CHECK(merged("{'<<': 1}") == "{\"<<\": 1}}\n");                          // in quotes it is a key like others
}

TEST_CASE("what is no YAML or TOML is refused where it ends to be", "[import]") {
  auto const refusal = [](auto parse, std::string const& text) {
    try {
      static_cast<void>(parse({"a.file", text}));
    } catch (InputError const& error) {
      return std::string{error.what()};
    }
    return std::string{"it was read"};
  };
  auto const yaml = [&](std::string const& text) { return refusal(io::parse_yaml, text); };
  auto const toml = [&](std::string const& text) { return refusal(io::parse_toml, text); };
  CHECK_THAT(yaml("a: 1\nb: [1, 2\n"), Catch::StartsWith("a.file:3:1: ") && Contains("no YAML"));
  CHECK_THAT(yaml("a: 1\na: 2\n"), Catch::StartsWith("a.file:2:1: ") && Contains("a second time"));
  CHECK_THAT(yaml("a: 1\n---\nb: 2\n"), Contains("2 YAML documents"));
  CHECK_THAT(yaml("a: 1\n<<: 2\n"), Catch::StartsWith("a.file:2:5: ") && Contains("expected a map or a list of maps"));
  CHECK_THAT(yaml("? [a]\n: 1\n"), Contains("a key that is no text"));
  CHECK_THAT(yaml("&a [*a]"), Contains("nested more than"));
  CHECK_THAT(yaml(std::string(100'000, 'x')), Contains("at most 65536"));
  CHECK_THAT(toml("a = 1\nb = = 2\n"), Catch::StartsWith("a.file:2:") && Contains("no TOML"));
  CHECK_THAT(toml("a = " + std::string(200, '[')), Contains("nested more than 128 deep"));
  CHECK_THAT(toml("a = 1\na = 2\n"), Contains("no TOML"));
  CHECK(toml_as_json("b = 1\na = [1.5, true]\n[t]\nx.y = 'z'\n") ==
        "{\"b\": 1, \"a\": [1.5, true], \"t\": {\"x\": {\"y\": \"z\"}}}\n");
}

TEST_CASE("a DeepSpeed configuration becomes a plan", "[import]") {
  auto const file = deepspeed(R"({
    "train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2,
    "bf16": {"enabled": true}, "gradient_clipping": 1.0, "steps_per_print": 10,
    "optimizer": {"type": "AdamW", "params": {"lr": 3e-4}},
    "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": "auto",
      "stage3_prefetch_bucket_size": 5e6, "allgather_bucket_size": 7,
      "offload_optimizer": {"device": "cpu", "pin_memory": true}, "offload_param": {"device": "none"}},
    "activation_checkpointing": {"cpu_checkpointing": true}})");
  REQUIRE(file.warnings.size() == 1);
  CHECK_THAT(file.warnings[0], Contains("allgather_bucket_size is not modelled"));
  CHECK(file.open.empty());
  auto const plan = plan_of(file);
  CHECK(plan.strategy == StrategyName::kDeepSpeed3);
  CHECK(plan.batch.micro_batch == 2);
  CHECK(accumulation(plan) == 2);
  CHECK(plan.states.clips_gradients);
  CHECK(plan.strategy == DeepSpeedOptions{.stage = 3,
                                          .reduce_bucket_size = 4096 * 4096,
                                          .overlap_comm = true,
                                          .stage3_prefetch_bucket_size = 5'000'000});
  CHECK(plan.states.offload == Offload{.optimizer = OffloadPlace::kCpu, .activations = true});
  CHECK(plan.kernels.recompute == Recompute::kFull);
}

TEST_CASE("DeepSpeed's SGD has momentum where the file gives it", "[import]") {
  auto const optimizer = [](std::string const& section) {
    return plan_of(deepspeed(R"({"train_micro_batch_size_per_gpu": 1, "optimizer": )" + section + "}"))
        .states.optimizer;
  };
  CHECK(optimizer(R"({"type": "SGD"})") == Optimizer::kSgd);
  CHECK(optimizer(R"({"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9}})") == Optimizer::kSgdMomentum);
  CHECK(optimizer(R"({"type": "ADAMW"})") == Optimizer::kAdamWFused);
  CHECK(optimizer(R"({"type": "Adam", "params": {"torch_adam": true}})") == Optimizer::kAdamWForeach);
}

TEST_CASE("DeepSpeed's whole batch alone is one micro-batch a rank", "[import]") {
  auto const plan = plan_of(deepspeed(R"({"train_batch_size": 64, "zero_optimization": {"stage": 2}})"));
  CHECK(plan.batch.micro_batch == 4);  // 64 sequences on 16 ranks
  CHECK(plan.kernels.precision == DataType::kFp32);
}

TEST_CASE("what the Trainer fills in is left open, and says what to give", "[import]") {
  auto const file = deepspeed(R"({"train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto",
                                  "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})");
  CHECK(file.warnings.empty());
  REQUIRE(file.open.size() == 2);
  CHECK(file.open[0].key == "micro_batch");
  CHECK_THAT(file.open[0].warning, Catch::StartsWith("ds.json:1:36: /train_micro_batch_size_per_gpu") &&
                                       Contains("per_device_train_batch_size"));
  CHECK(file.open[1].key == "precision");
}

TEST_CASE("keys that matter and are not modelled are named, harmless and idle ones are not", "[import]") {
  auto const file = deepspeed(R"({
    "zero_optimization": {"stage": 2, "round_robin_gradients": true, "contiguous_gradients": true,
                          "mics_shard_size": -1, "redcue_bucket_size": 1, "sub_group_size": 1e12},
    "wall_clock_breakdown": true, "sparse_attention": {"mode": "fixed"}, "amp": {"enabled": false},
    "optimizer": {"type": "OneBitAdam"}})");
  REQUIRE(file.warnings.size() == 4);
  CHECK_THAT(file.warnings[0], Catch::StartsWith("ds.json:2:64: /zero_optimization/round_robin_gradients") &&
                                   Contains("is not modelled"));
  CHECK_THAT(file.warnings[1], Contains("/zero_optimization/redcue_bucket_size is an unknown key") &&
                                   Contains(R"(did you mean "reduce_bucket_size"?)"));
  CHECK_THAT(file.warnings[2], Contains("/sparse_attention"));
  CHECK_THAT(file.warnings[3], Contains("\"OneBitAdam\" is not modelled"));
}

TEST_CASE("an accelerate configuration of FSDP becomes a plan", "[import]") {
  auto const text = std::string{R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_activation_checkpointing: true
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_forward_prefetch: false
  fsdp_offload_params: false
  fsdp_sharding_strategy: HYBRID_SHARD
  fsdp_state_dict_type: SHARDED_STATE_DICT
machine_rank: 0
mixed_precision: bf16
num_machines: 2
num_processes: 16
)"};
  auto const file = accelerate(text);
  CHECK(file.warnings.empty());
  auto const plan = plan_of(file);
  CHECK(plan.strategy == StrategyName::kFsdp1);
  CHECK(plan.parallel.data == 16);
  CHECK(plan.parallel.shard_group == 8);  // processes of one of two machines
  CHECK(plan.strategy ==
        Fsdp1Options{.sharding = Fsdp1Options::Sharding::kHybridShard, .accumulation = FsdpAccumulation::kNoSync});
  CHECK(plan.kernels.recompute == Recompute::kFull);
  CHECK(held_type(plan) == DataType::kFp32);
}

TEST_CASE("accelerate's own defaults and numbers are kept", "[import]") {
  auto const plan_with = [](std::string const& lines) {
    return plan_of(accelerate("distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n" + lines));
  };
  auto const numbered = plan_with("  fsdp_sharding_strategy: 2\n");
  CHECK(numbered.strategy.get<Fsdp1Options>().sharding == Fsdp1Options::Sharding::kShardGradOp);
  CHECK(numbered.strategy.get<Fsdp1Options>().backward_prefetch == Fsdp1Options::Prefetch::kNone);
  auto const second =
      plan_with("  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n  fsdp_offload_params: true\n");
  CHECK(second.strategy == StrategyName::kFsdp2);
  CHECK(second.strategy.get<Fsdp2Options>().reshard_after_forward == 0);
  CHECK(second.states.offload.parameters == OffloadPlace::kCpu);
  auto const plain = plan_of(accelerate("distributed_type: MULTI_GPU\nmixed_precision: 'no'\nnum_processes: 4\n"));
  CHECK(plain.strategy == StrategyName::kDdp);
  CHECK(plain.kernels.precision == DataType::kFp32);
  auto const zero =
      plan_of(accelerate("distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n"
                         "  zero_stage: 3\n  gradient_accumulation_steps: 4\n"
                         "  offload_optimizer_device: cpu\n  offload_param_device: none\n"));
  CHECK(zero.strategy == StrategyName::kDeepSpeed3);
  CHECK(accumulation(zero) == 4);
  CHECK(zero.states.offload.optimizer == OffloadPlace::kCpu);
}

TEST_CASE("accelerate's wrapping policies say which units FSDP makes", "[import]") {
  auto const wraps_from = [](std::string const& lines) {
    auto const file = accelerate("distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n" + lines);
    return plan_of(file).strategy.get<Fsdp1Options>().wraps_from;
  };
  CHECK(wraps_from("  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n") == 0);
  CHECK(wraps_from("  fsdp_auto_wrap_policy: NO_WRAP\n") == std::numeric_limits<std::int64_t>::max());
  CHECK(wraps_from("  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n") == 100'000'000);
  CHECK(wraps_from("  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: 2000\n") == 2000);
  CHECK(wraps_from("  fsdp_auto_wrap_policy: 2\n  fsdp_min_num_params: 2000\n") == 2000);
  CHECK_THROWS_WITH(wraps_from("  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: -5\n"),
                    Contains(":5:") && Contains("found -5"));
}

TEST_CASE("a count that is none is refused with its line", "[import]") {
  for (std::string const length : {"-5", "0", "2.5", "nan", "1e400", "1979-05-27", "99999999999999999999"}) {
    INFO(length);
    CHECK_THROWS_WITH(torchtitan("[training]\nseq_len = " + length + "\n"), Contains(":2:"));
  }
  CHECK_THROWS_WITH(accelerate("distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: -8\n"),
                    Contains(":3:"));
}

TEST_CASE("torchtitan compiles its loss with the model, unless its components leave it out", "[import]") {
  auto const loss = [](std::string const& compile) {
    return plan_of(torchtitan("[training]\nseq_len = 4096\n[compile]\n" + compile)).kernels.cross_entropy;
  };
  CHECK(loss("enable = false\n") == CrossEntropy::kPlain);
  CHECK(loss("enable = true\n") == CrossEntropy::kFused);
  CHECK(loss("enable = true\ncomponents = [\"model\"]\n") == CrossEntropy::kPlain);
}

TEST_CASE("a torchtitan configuration becomes a plan, in its newer and its older layout", "[import]") {
  auto const newer = torchtitan(R"(
[job]
description = "Llama 3 8B"
[training]
local_batch_size = 2
global_batch_size = 64
seq_len = 4096
max_norm = 1.0
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = -1
fsdp_reshard_after_forward = "never"
tensor_parallel_degree = 1
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
[optimizer]
name = "AdamW"
implementation = "foreach"
)");
  CHECK(newer.warnings.empty());
  auto const plan = plan_of(newer);
  CHECK(plan.strategy == StrategyName::kFsdp2);
  CHECK(plan.parallel.shard_group == 8);  // 16 ranks, two replicas
  CHECK(plan.strategy == Fsdp2Options{.reshard_after_forward = 0, .shards_root = false});
  CHECK(plan.kernels.recompute == Recompute::kPerOp);
  CHECK(plan.states.optimizer == Optimizer::kAdamWForeach);
  CHECK(plan.states.reduce_type == DataType::kFp32);
  CHECK(held_type(plan) == DataType::kFp32);
  CHECK(plan.states.clips_gradients);
  CHECK(accumulation(plan) == 2);  // 64 / (2 · 16)

  auto const older =
      plan_of(torchtitan("[training]\nbatch_size = 4\nseq_len = 2048\ndata_parallel_degree = -1\n"
                         "[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = '2'\n"));
  CHECK(older.batch.micro_batch == 4);
  CHECK(older.kernels.recompute_scope == RecomputeScope{.every = 2});
  auto const replicas =
      plan_of(torchtitan("[parallelism]\ndata_parallel_replicate_degree = 8\n"
                         "data_parallel_shard_degree = 1\n"));
  CHECK(replicas.strategy == StrategyName::kDdp);
  CHECK(replicas.parallel.data == 8);
}

TEST_CASE("a model and flavor of torchtitan name a model", "[import]") {
  auto const parameters = [](std::string const& model, std::string const& flavor) {
    auto warnings = std::vector<std::string>{};
    auto const file = torchtitan("[model]\nname = '" + model + "'\nflavor = '" + flavor + "'\n");
    return parameter_count(read_model(file.model.node(), ".", warnings));
  };
  // As published: Llama 3 8B; Qwen3 8B, with a norm of each head; Qwen3 0.6B, whose head is the embedding.
  CHECK(parameters("llama3", "8B") == 8'030'261'248);
  CHECK(parameters("llama3", "8B_flex") == 8'030'261'248);
  CHECK(parameters("qwen3", "8B") == 8'190'735'360);
  CHECK(parameters("qwen3", "0.6B") == 596'049'920);
  CHECK_FALSE(torchtitan("[model]\nname = 'flux'\nflavor = 'flux-dev'\n").model.node().has("family"));
  CHECK_THAT(refusal_of(torchtitan, "[model]\nname = 'qwen3'\nflavor = '30B-A3B'\n"), Contains("mixture of experts"));
}

// 32 layers over 2 stages are 16 each; 4 of them a virtual stage make 4 chunks. 16 ranks over 4 · 2 are 2
// data-parallel.
TEST_CASE("a Megatron-LM command line becomes a plan with its degrees", "[import][mesh]") {
  auto const file = megatron(R"(#!/bin/bash
    # a comment: --fp16
    torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
      --tensor-model-parallel-size 4 --sequence-parallel --pipeline-model-parallel-size=2 \
      --num-layers-per-virtual-pipeline-stage 4 --micro-batch-size 1 --global-batch-size 64 --seq-length 2048 \
      --bf16 --use-distributed-optimizer --overlap-grad-reduce --clip-grad 0.0 --swiglu --vocab-size 32000 \
      --normalization RMSNorm --position-embedding-type rope \
      --recompute-granularity full --recompute-method uniform --recompute-num-layers 2 --tp-comm-overlap --lr 1e-4)");
  auto const plan = plan_of(file);
  CHECK(plan.strategy == MegatronOptions{.overlap_param_gather = false});
  CHECK(plan.parallel.tensor == 4);
  CHECK(plan.parallel.sequence);
  CHECK(plan.parallel.pipeline.stages == 2);
  CHECK(plan.parallel.pipeline.chunks == 4);
  CHECK(plan.parallel.data == 2);
  CHECK(accumulation(plan) == 32);
  CHECK_FALSE(plan.states.clips_gradients);
  CHECK(plan.kernels.recompute == Recompute::kFull);
  CHECK(plan.kernels.recompute_scope.segment == 2);
  REQUIRE(file.warnings.size() == 1);  // what matters and is not modelled
  CHECK_THAT(file.warnings.front(), Contains("tp-comm-overlap"));
  CHECK(file.model.node().at("family").string() == "llama");
  CHECK(file.model.node().at("ffn").integer() == 10880);  // 4096 · 8/3, rounded down to 64
}

TEST_CASE("a script's own variables are replaced, and flags count wherever they are written", "[import]") {
  auto const file = megatron(R"(
    TP=${TP:-4}          # as many as a node has
    PP="2"
    OLD_ARGS="
        --tensor-model-parallel-size $TP \
        --bf16
    "
    NEW_ARGS=( "--clip-grad 0" --pipeline-model-parallel-size ${PP} )
    NEW_ARGS+=(--lr -1 --split '99,1,0')
    echo "Error: --fp16 is no flag here"
    torchrun --nnodes=2 --nproc_per_node 8 pretrain_gpt.py $OLD_ARGS "${NEW_ARGS[@]}"         --micro-batch-size 1 --seq-length 4096 --data-path $DATA)");
  auto const plan = plan_of(file);
  CHECK(file.warnings.size() == 0);
  CHECK(plan.parallel.tensor == 4);
  CHECK(plan.parallel.pipeline.stages == 2);
  CHECK(plan.parallel.world() == 16);
  CHECK_FALSE(plan.parallel.sequence);
  CHECK_FALSE(plan.states.clips_gradients);
  CHECK(plan.kernels.precision == DataType::kBf16);
  CHECK(file.cluster.node().at("nodes").integer() == 2);
  auto const twice = megatron("--micro-batch-size 1 --micro-batch-size 2\n--train-iterz 5\n--seq-length 4096");
  REQUIRE(twice.warnings.size() == 2);
  CHECK_THAT(twice.warnings[0],
             Catch::StartsWith("run.sh:1:41: --micro-batch-size is given a second time: 2 is taken"));
  CHECK_THAT(twice.warnings[1], Contains(R"(did you mean "train-iters"?)"));
  CHECK(plan_of(twice).batch.micro_batch == 2);
}

TEST_CASE("Megatron-LM's defaults hold where a flag does not stand", "[import]") {
  auto const file = megatron("--micro-batch-size 2 --seq-length 4096 --bf16");
  auto const plan = plan_of(file);
  CHECK(plan.strategy == MegatronOptions{.use_distributed_optimizer = false,
                                         .overlap_grad_reduce = false,
                                         .overlap_param_gather = false,
                                         .grad_reduce_in_fp32 = true});
  CHECK(plan.states.clips_gradients);
  CHECK(plan.states.optimizer == Optimizer::kAdamWFused);
  CHECK(plan.kernels.recompute == Recompute::kNone);
  CHECK(plan.batch.global_batch == 32);  // 2 on each of 16 ranks
  CHECK_FALSE(plan_of(megatron("--micro-batch-size 1 --seq-length 4096 --fp16"))
                  .strategy.get<MegatronOptions>()
                  .grad_reduce_in_fp32);
  auto const open = megatron("--bf16");
  REQUIRE(open.open.size() == 2);
  CHECK_THAT(open.open[0].warning, Contains("--micro-batch-size"));
}

TEST_CASE("a Megatron-LM pipeline has stages of as many layers as it is told", "[import][mesh]") {
  auto const layers = [](std::string const& flags) {
    return plan_of(megatron("--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --micro-batch-size 1 "
                            "--global-batch-size 64 --seq-length 4096 --bf16 --pipeline-model-parallel-size 4 " +
                            flags))
        .parallel.pipeline;
  };
  using List = std::vector<std::int64_t>;
  // 32 − 6 − 8 = 18 for two stages between; chunks in the model's order, each stage's halves.
  CHECK(layers("--decoder-first-pipeline-num-layers 6 --decoder-last-pipeline-num-layers 8").layers ==
        List{6, 9, 9, 8});
  CHECK(layers("--decoder-first-pipeline-num-layers 2 --num-virtual-stages-per-pipeline-rank 2").layers ==
        List{1, 5, 5, 5, 1, 5, 5, 5});
  auto const interleaved = layers(
      "--num-layers-per-virtual-pipeline-stage 2 --no-overlap-p2p-communication "
      "--microbatch-group-size-per-virtual-pipeline-stage 8");
  CHECK(interleaved.chunks == 4);  // 32 / 4 / 2
  CHECK(interleaved.group == 8);
  CHECK(interleaved.exchange == PipelineExchange::kBatched);
  auto const refusal = [&](std::string const& flags) {
    try {
      static_cast<void>(layers(flags));
    } catch (InputError const& error) {
      return std::string{error.what()};
    }
    return std::string{"it was read"};
  };
  CHECK_THAT(refusal("--num-layers-per-virtual-pipeline-stage 3"), Contains("chunks of 3 for 32 layers on 4 stages"));
  CHECK_THAT(refusal("--account-for-loss-in-pipeline-split"), Contains("found 33 layers"));
  CHECK_THAT(refusal("--decoder-first-pipeline-num-layers 6"), Contains("26 layers for the 3 other stages"));
  CHECK_THAT(refusal("--pipeline-model-parallel-layout 'Et*8|t*8|t*8|t*9L'"), Contains("found 33 layers in all"));
  CHECK_THAT(refusal("--pipeline-model-parallel-layout 'Et*8|t*8|t*16L'"), Contains("found 3 parts for 4 stages"));
  CHECK_THAT(refusal("--pipeline-model-parallel-layout 'Et*8|t*8|t*8|t*8mL'"), Contains("multi-token prediction"));
  CHECK_THAT(refusal("--pipeline-model-parallel-layout 't*8|Et*8|t*8|t*8L'"), Contains("does not begin"));
  CHECK_THAT(refusal("--pipeline-model-parallel-layout 'Et*|t'"), Contains("found no number after \"Et*\""));
  CHECK_THAT(refusal("--num-virtual-stages-per-pipeline-rank 2 --num-layers-per-virtual-pipeline-stage 4"),
             Contains("beside /num-virtual-stages-per-pipeline-rank"));
  CHECK_THAT(refusal("--overlap-param-gather"), Contains("without --use-distributed-optimizer"));
  CHECK_THAT(refusal("--recompute-granularity full"), Contains("without --recompute-method"));
}

TEST_CASE("the model of a Megatron-LM command line is the GPT that it builds", "[import]") {
  auto const model = [](std::string const& flags) {
    auto warnings = std::vector<std::string>{};
    auto const file = megatron(flags);
    return std::get<Transformer>(read_model(file.model.node(), ".", warnings));
  };
  // GPT-3 of 175 billion (examples/gpt3 of Megatron-LM): 50257 entries padded to 8 ranks' multiple of 128.
  auto const gpt3 = model(
      "--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 "
      "--max-position-embeddings 2048 --tokenizer-type GPT2BPETokenizer "
      "--tensor-model-parallel-size 8");
  CHECK(gpt3.vocabulary == 51200);  // 50 · 1024
  CHECK(gpt3.ffn == 4 * 12288);
  CHECK(gpt3.positions == 2048);
  CHECK(gpt3.tied_embeddings);
  CHECK(gpt3.dropout);
  // examples/llama of Megatron-LM, Llama 3 8B; as published but for its padded vocabulary, which divides already.
  auto const llama = model(
      "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
      "--group-query-attention --num-query-groups 8 --kv-channels 128 --seq-length 8192 "
      "--max-position-embeddings 8192 --position-embedding-type rope --attention-dropout 0.0 "
      "--hidden-dropout 0.0 --swiglu --normalization RMSNorm --vocab-size 128256 "
      "--untie-embeddings-and-output-weights --disable-bias-linear");
  CHECK(parameter_count(llama) == 8'030'261'248);
  CHECK_FALSE(llama.dropout);
  auto const mixed = megatron("--num-layers 2 --hidden-size 64 --num-attention-heads 4 --swiglu --vocab-size 128");
  REQUIRE(mixed.warnings.size() == 2);  // learned positions and layer norms beside SwiGLU
  CHECK_THAT(mixed.warnings[1], Contains("\"LayerNorm\" is not modelled beside SwiGLU"));
  CHECK_THAT(refusal_of(megatron, "--num-layers 2 --num-experts 8"), Contains("mixture of experts"));
  CHECK_THAT(refusal_of(megatron, "--num-layers 2 --hidden-size 65 --num-attention-heads 4"),
             Catch::StartsWith("run.sh:1:55: ") && Contains("4 heads for a hidden size of 65"));
  CHECK_THAT(refusal_of(megatron, "--hidden-size 64 --num-attention-heads 4\n--num-layers x"),
             Catch::StartsWith("run.sh:2:"));
}

// torchtitan: local_batch_size 8 in micro-batches of 1; 16 ranks over tensor 2 and 4 stages leave 2 to shard.
TEST_CASE("degrees of torchtitan become those of the plan", "[import][mesh]") {
  auto const plan =
      plan_of(torchtitan("[training]\nlocal_batch_size = 8\nseq_len = 2048\n[parallelism]\ntensor_parallel_degree = 2\n"
                         "pipeline_parallel_degree = 4\npipeline_parallel_schedule = 'Interleaved1F1B'\n"));
  CHECK(plan.parallel.tensor == 2);
  CHECK(plan.parallel.sequence);
  CHECK(plan.parallel.pipeline.stages == 4);
  CHECK(plan.parallel.pipeline.chunks == 2);
  CHECK(plan.parallel.data == 2);
  CHECK(accumulation(plan) == 8);
}

TEST_CASE("float8 and torch.compile of torchtitan are read or left open", "[import]") {
  auto const file = torchtitan(
      "[model]\nconverters = ['float8']\n[float8]\nrecipe_name = 'rowwise'\n"
      "enable_fsdp_float8_all_gather = true\n[compile]\nenable = true\n");
  CHECK(plan_of(file).kernels.linear_type == DataType::kFp8);
  CHECK(plan_of(file).kernels.scaling == Scaling::kRowWise);
  REQUIRE(file.warnings.size() == 1);
  CHECK_THAT(file.warnings[0], Catch::StartsWith("train.toml:5:") && Contains("/float8/enable_fsdp_float8_all_gather"));
  REQUIRE(file.open.size() == 1);
  CHECK_THAT(file.open[0].warning, Contains("pytorch-compiled"));
}

TEST_CASE("tensor ranks of torchtitan, accelerate and DeepSpeed share every layer", "[import]") {
  auto const two = plan_of(torchtitan("[parallelism]\ntensor_parallel_degree = 2\n"));
  CHECK(two.parallel.tensor == 2);
  CHECK(two.parallel.sequence);   // torchtitan/models/llama3/infra/parallelize.py, SequenceParallel
  CHECK(two.parallel.data == 8);  // 16 GPUs
  auto const shards =
      plan_of(torchtitan("[parallelism]\ndata_parallel_shard_degree = 4\ntensor_parallel_degree = 2\n"));
  CHECK(shards.parallel.world() == 8);
  CHECK(plan_of(accelerate("distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config: {fsdp_version: 2}\n"
                           "parallelism_config: {parallelism_config_tp_size: 4}\n"))
            .parallel.tensor == 4);
  CHECK(plan_of(deepspeed(R"({"zero_optimization": {"stage": 1}, "tensor_parallel": {"autotp_size": 4}})"))
            .parallel.tensor == 4);
  CHECK(plan_of(deepspeed(R"({"zero_optimization": {"stage": 1}, "tensor_parallel": {"autotp_size": 0}})"))
            .parallel.tensor == 1);
}

TEST_CASE("torchtitan's pipelines have stages, a schedule and micro-batches", "[import]") {
  constexpr auto kDdp = "[parallelism]\ndata_parallel_shard_degree = 1\ndata_parallel_replicate_degree = 2\n";
  auto const plan = plan_of(torchtitan(std::string{kDdp} +
                                       "pipeline_parallel_degree = 4\npipeline_parallel_schedule = 'Interleaved1F1B'\n"
                                       "pipeline_parallel_microbatch_size = 2\n[training]\nlocal_batch_size = 16\n"));
  CHECK(plan.parallel.pipeline.stages == 4);
  CHECK(plan.parallel.pipeline.chunks == 2);
  CHECK(plan.parallel.pipeline.schedule == PipelineSchedule::kInterleaved);
  CHECK(plan.parallel.pipeline.counts_head);
  CHECK(plan.parallel.data == 2);
  CHECK(plan.batch.micro_batch == 2);
  CHECK(accumulation(plan) == 8);  // 16 sequences of a rank, two at a time
  // 32 layers, embedding and head: ⌈34 / 5⌉ = 7 stages are not as many on each of 4 ranks; ⌈34 / 3⌉ = 12 are 3.
  auto const llama =
      std::string{kDdp} + "pipeline_parallel_degree = 4\npipeline_parallel_schedule = 'Interleaved1F1B'\n";
  auto const model = std::string{"[model]\nname = 'llama3'\nflavor = '8B'\n"};
  CHECK(plan_of(torchtitan(llama + "pipeline_parallel_layers_per_stage = 3\n" + model)).parallel.pipeline.chunks == 3);
  CHECK_THAT(refusal_of(torchtitan, llama + "pipeline_parallel_layers_per_stage = 5\n" + model),
             Catch::StartsWith("train.toml:6:") && Contains("makes 7 stages on 4 ranks"));
  CHECK_THAT(refusal_of(torchtitan,
                        std::string{kDdp} + "pipeline_parallel_degree = 2\npipeline_parallel_schedule = 'LoopedBFS'\n"),
             Catch::StartsWith("train.toml:5:") && Contains("not modelled yet"));
  CHECK_THAT(refusal_of(torchtitan, std::string{kDdp} + "pipeline_parallel_degree = 2\n"
                                                        "pipeline_parallel_microbatch_size = 3\n"),
             Contains("micro-batches of 3 for the 8 sequences"));
  auto const async = torchtitan("[parallelism]\nenable_async_tensor_parallel = true\n");
  REQUIRE(async.warnings.size() == 1);
  CHECK_THAT(async.warnings[0], Contains("enable_async_tensor_parallel is not modelled"));
}

TEST_CASE("parallelism that is not modelled, and impossible values, are refused at their place", "[import]") {
  CHECK_THAT(refusal_of(torchtitan, "[parallelism]\ncontext_parallel_degree = 4\n"),
             Catch::StartsWith("train.toml:2:27: ") && Contains("context parallelism of degree 4") &&
                 Contains("not modelled yet"));
  CHECK_THAT(refusal_of(megatron, "--tensor-model-parallel-size 2 --context-parallel-size 2"),
             Catch::StartsWith("run.sh:1:56: /context-parallel-size: ") && Contains("context parallelism of degree 2"));
  CHECK_THAT(refusal_of(megatron, "--bf16\n--tensor-model-parallel-size $TP"),
             Contains("$TP\", a variable of the shell"));
  CHECK_THAT(refusal_of(torchtitan, "[parallelism]\ntensor_parallel_degree = 0\n"),
             Catch::StartsWith("train.toml:2:26: "));
  CHECK_THAT(refusal_of(torchtitan, "[activation_checkpoint]\nmode = \"some\"\n"), Contains("none, full, selective"));
  CHECK_THAT(refusal_of(accelerate, "distributed_type: MEGATRON_LM\n"), Catch::StartsWith("fsdp.yaml:1:19: "));
  CHECK_THAT(refusal_of(accelerate, "distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: 7}\n"),
             Contains("a number from 1 to 5") && Contains("FULL_SHARD"));
  CHECK_THAT(refusal_of(deepspeed, R"({"zero_optimization": {"stage": 4}})"), Contains("expected 0, 1, 2 or 3"));
  CHECK_THAT(refusal_of(deepspeed, R"({"name": "h100", "memory_capacity": "80 GB"})"),
             Contains("found no key of a DeepSpeed configuration"));
  CHECK_THAT(refusal_of(deepspeed, R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme"}}})"),
             Catch::StartsWith("ds.json:1:68: ") && Contains("NVMe for deepspeed-2"));
  CHECK_THAT(refusal_of(deepspeed, R"({"zero_optimization": {"stage": 3, "reduce_bucket_size": "many"}})"),
             Catch::StartsWith("ds.json:1:58: ") && Contains("found \"many\""));
  CHECK_THAT(refusal_of(deepspeed, R"({"train_batch_size": Infinity})"),
             Catch::StartsWith("ds.json:1:22: ") && Contains("found inf, expected a finite number"));
}
