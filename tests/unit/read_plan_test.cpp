#include "strategies/plan/read_plan.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using Catch::Contains;

namespace {

constexpr std::int64_t kGpus = 16;

Plan plan_of(std::string strategy, std::string training = "{}", ModelSpec const& model = llama_2_7b()) {
  return read_plan(io::parse({"training", std::move(training)}), io::parse({"strategy", std::move(strategy)}), model,
                   kGpus);
}

std::string refusal_of(std::string const& strategy, std::string const& training = "{}",
                       ModelSpec const& model = llama_2_7b()) {
  try {
    static_cast<void>(plan_of(strategy, training, model));
  } catch (InputError const& error) {
    return error.what();
  }
  return "it was read";
}

}  // namespace

TEST_CASE("every framework's options are read under its own names", "[plan]") {
  auto const ddp = plan_of(R"({"name": "ddp", "gradient_as_bucket_view": true, "comm_hook": "bf16", "no_sync": false,
                               "static_graph": true, "bucket": "100 MiB"})");
  CHECK(ddp.strategy == DdpOptions{.bucket = Bytes{100 << 20},
                                   .gradient_as_bucket_view = true,
                                   .static_graph = true,
                                   .comm_hook = DdpOptions::Hook::kBf16,
                                   .no_sync = false});
  auto const fsdp1 = plan_of(R"({"name": "fsdp1", "sharding": "HYBRID_SHARD", "shard_group": 8,
                                 "backward_prefetch": "NO_PREFETCH", "forward_prefetch": true,
                                 "limit_all_gathers": false, "accumulation": "no_sync"})");
  CHECK(fsdp1.strategy == Fsdp1Options{.sharding = Fsdp1Options::Sharding::kHybridShard,
                                       .backward_prefetch = Fsdp1Options::Prefetch::kNone,
                                       .forward_prefetch = true,
                                       .limit_all_gathers = false,
                                       .accumulation = FsdpAccumulation::kNoSync});
  CHECK(replicas(fsdp1) == 2);
  auto const deepspeed = plan_of(R"({"name": "deepspeed-3", "reduce_bucket_size": 1e7, "overlap_comm": false,
                                     "stage3_max_live_parameters": 0, "zero_hpz_partition_size": 8,
                                     "sub_group_size": 1e12})");
  CHECK(deepspeed.strategy == DeepSpeedOptions{.stage = 3,
                                               .reduce_bucket_size = 10'000'000,
                                               .overlap_comm = false,
                                               .stage3_max_live_parameters = 0,
                                               .sub_group_size = 1'000'000'000'000,
                                               .zero_hpz_partition_size = 8});
  auto const megatron = plan_of(R"({"name": "megatron", "bucket_size": 1000, "grad_reduce_in_fp32": false})");
  CHECK(megatron.strategy == MegatronOptions{.grad_reduce_in_fp32 = false, .bucket_size = 1000});
}

TEST_CASE("a strategy is known by its options, and keeps them in another stage of the same code", "[plan]") {
  for (auto const& traits : kStrategies) {
    auto const name = *find_enum<StrategyName>(traits.name);
    CHECK(Strategy{name}.name() == name);
    CHECK(name_of(Strategy{name}) == traits.name);
  }
  auto const first = Strategy{DeepSpeedOptions{.stage = 1, .reduce_bucket_size = 7}};
  CHECK(first.changed_to(StrategyName::kDeepSpeed3) == Strategy{DeepSpeedOptions{.stage = 3, .reduce_bucket_size = 7}});
  CHECK(first.changed_to(StrategyName::kZero3) == Strategy{StrategyName::kZero3});
}

TEST_CASE("FSDP2 frees parameters after forward, keeps them, or keeps shards of them", "[plan]") {
  auto const reshard = [](std::string const& value) {
    return plan_of(R"({"name": "fsdp2", "reshard_after_forward": )" + value + "}")
        .strategy.get<Fsdp2Options>()
        .reshard_after_forward;
  };
  CHECK(reshard("true") == 1);
  CHECK(reshard("false") == 0);
  CHECK(reshard("8") == 8);
}

TEST_CASE("auto is what Hugging Face makes of the hidden size", "[plan]") {
  auto const plan = plan_of(R"({"name": "deepspeed-3", "reduce_bucket_size": "auto",
                                "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"})");
  // Hidden 4096: 4096² = 16,777,216; 0.9 of it is 15,099,494.4; 10 · 4096 = 40,960.
  auto const& deepspeed = plan.strategy.get<DeepSpeedOptions>();
  CHECK(deepspeed.reduce_bucket_size == 16'777'216);
  CHECK(deepspeed.stage3_prefetch_bucket_size == 15'099'494);
  CHECK(deepspeed.stage3_param_persistence_threshold == 40'960);
  CHECK_THAT(refusal_of(R"({"name": "deepspeed-2", "reduce_bucket_size": "auto"})", "{}", odd_mlp()),
             Contains("without a hidden size") && Contains("give a number of elements"));
}

TEST_CASE("recompute says which layers, as a word, a number or a rule", "[plan]") {
  auto const scope = [](std::string const& recompute) {
    auto const plan = plan_of(R"({"name": "zero-3", "recompute": )" + recompute + "}");
    return std::pair{plan.kernels.recompute, plan.kernels.recompute_scope};
  };
  CHECK(scope(R"("selective")") == std::pair{Recompute::kSelective, RecomputeScope{}});
  // 32 layers: √32 = 5.66.
  CHECK(scope(R"("sqrt")") == std::pair{Recompute::kFull, RecomputeScope{.segment = 6}});
  CHECK(scope(R"({"every": 2})") == std::pair{Recompute::kFull, RecomputeScope{.every = 2}});
  CHECK(scope(R"({"what": "per-op", "first": 8})") == std::pair{Recompute::kPerOp, RecomputeScope{.first = 8}});
  CHECK(scope(R"({"segment": 4})") == std::pair{Recompute::kFull, RecomputeScope{.segment = 4}});
}

TEST_CASE("PyTorch's wrappers hold fp32 parameters under 16 bits, the others hold the precision", "[plan]") {
  for (auto const* const name : {"ddp", "fsdp1", "fsdp2"}) {
    auto const strategy = R"({"name": ")" + std::string{name} + R"("})";
    CHECK(held_type(plan_of(strategy)) == DataType::kFp32);
    CHECK(held_type(plan_of(strategy, R"({"parameter_type": "bf16"})")) == DataType::kBf16);
    CHECK(held_type(plan_of(strategy, R"({"precision": "fp32"})")) == DataType::kFp32);
  }
  for (auto const* const name : {"naive", "zero-1", "zero-3", "deepspeed-2", "megatron"})
    CHECK(held_type(plan_of(R"({"name": ")" + std::string{name} + R"("})")) == DataType::kBf16);
}

TEST_CASE("two of micro-batch, accumulation and global batch give the third", "[plan]") {
  auto const batches = [](std::string const& training) {
    auto const plan = plan_of(R"({"name": "ddp", "ranks": 4})", training);
    return std::tuple{plan.batch.micro_batch, accumulation(plan), plan.batch.global_batch};
  };
  CHECK(batches("{}") == std::tuple{1, 1, 4});
  CHECK(batches(R"({"micro_batch": 2, "gradient_accumulation": 3})") == std::tuple{2, 3, 24});
  CHECK(batches(R"({"micro_batch": 2, "global_batch": 24})") == std::tuple{2, 3, 24});
  CHECK(batches(R"({"gradient_accumulation": 3, "global_batch": 24})") == std::tuple{2, 3, 24});
  CHECK_THAT(refusal_of(R"({"name": "ddp", "ranks": 4})",
                        R"({"micro_batch": 2, "gradient_accumulation": 2, "global_batch": 24})"),
             Contains("2 micro-batches of 2 on 4 ranks") && Contains("global batch of 24"));
}

TEST_CASE("offload moves FSDP's optimizer with its parameters", "[plan]") {
  using Place = OffloadPlace;
  auto const offload = [](std::string const& name, std::string const& value) {
    return plan_of(R"({"name": ")" + name + R"(", "offload": )" + value + "}").states.offload;
  };
  CHECK(offload("fsdp2", R"({"parameters": "cpu"})") == Offload{Place::kCpu, Place::kCpu, false});
  CHECK(offload("deepspeed-2", R"({"optimizer": "cpu"})") == Offload{Place::kCpu, Place::kNone, false});
  CHECK(offload("deepspeed-3", R"({"optimizer": "nvme", "parameters": "nvme"})") ==
        Offload{Place::kNvme, Place::kNvme, false});
  CHECK(offload("ddp", R"({"activations": true})") == Offload{Place::kNone, Place::kNone, true});
}

TEST_CASE("a key of another framework is refused with the strategies that have it", "[plan]") {
  CHECK_THAT(refusal_of(R"({"name": "fsdp2", "backward_prefetch": "BACKWARD_PRE"})"),
             Contains("/backward_prefetch") && Contains("which fsdp2 does not have") && Contains("use fsdp1"));
  CHECK_THAT(refusal_of(R"({"name": "fsdp2", "sharding": "FULL_SHARD"})"), Contains("use fsdp1"));
  CHECK_THAT(refusal_of(R"({"name": "fsdp1", "reshard_after_forward": true})"), Contains("use fsdp2"));
  CHECK_THAT(refusal_of(R"({"name": "ddp", "reduce_bucket_size": 1})"),
             Contains("use deepspeed-1, deepspeed-2, deepspeed-3"));
  CHECK_THAT(refusal_of(R"({"name": "fsdp2", "reshard_after_froward": true})"),
             Contains("unknown key") && Contains(R"(did you mean "reshard_after_forward"?)"));
}

TEST_CASE("optimizers go by the names that frameworks give them, too", "[plan]") {
  auto const named = [](std::string const& name) {
    return plan_of(R"({"name": "ddp"})", R"({"optimizer": ")" + name + "\"}").states.optimizer;
  };
  CHECK(named("sgd") == Optimizer::kSgd);
  CHECK(named("adamw_torch") == Optimizer::kAdamWForeach);
  CHECK(named("adamw_bnb_8bit") == Optimizer::kAdamW8Bit);
  CHECK(named("paged_adamw_32bit") == Optimizer::kPagedAdamW);
  CHECK(named("bitsandbytes.optim.PagedAdamW8bit") == Optimizer::kPagedAdamW8Bit);
  CHECK(named("torch.optim.SGD") == Optimizer::kSgd);
  CHECK_THAT(refusal_of(R"({"name": "ddp"})", R"({"optimizer": "adamw_bnb_4bit"})"), Contains("paged-adamw-8bit"));
}

TEST_CASE("an 8-bit optimizer may lie in host memory, as torchao's does", "[plan][offload]") {
  auto const plan = plan_of(R"({"name": "fsdp2", "offload": {"parameters": "cpu"}})", R"({"optimizer": "adamw-8bit"})");
  CHECK(plan.states.offload.optimizer == OffloadPlace::kCpu);
}

TEST_CASE("choices that contradict each other are refused with the way out", "[plan]") {
  struct Case {
    std::string strategy;
    std::string training;
    std::string says;
    std::string way_out;
  };
  auto const each = GENERATE(values<Case>({
      {R"({"name": "ddp", "offload": {"optimizer": "cpu"}})", "{}", "offloaded optimizer for ddp", "deepspeed-1"},
      {R"({"name": "deepspeed-2", "offload": {"parameters": "cpu"}})", "{}", "does not shard them", "deepspeed-3"},
      {R"({"name": "deepspeed-2", "offload": {"optimizer": "nvme"}})", "{}", "NVMe for deepspeed-2", "deepspeed-3"},
      {R"({"name": "deepspeed-3", "offload": {"parameters": "cpu"}})", "{}", "without an offloaded optimizer", "add"},
      {R"({"name": "fsdp1", "offload": {"parameters": "nvme"}})", "{}", "NVMe for fsdp1", "deepspeed-3"},
      {R"({"name": "fsdp2", "offload": {"optimizer": "cpu"}})", "{}", "together", R"("parameters": "cpu")"},
      {R"({"name": "fsdp1", "sharding": "HYBRID_SHARD"})", "{}", R"(without "shard_group")", "GPUs of a node"},
      {R"({"name": "fsdp1", "shard_group": 8})", "{}", "FULL_SHARD, which has none", "HYBRID_SHARD"},
      {R"({"name": "fsdp2", "shard_group": 8, "reshard_after_forward": 4})", "{}", "inside shard groups", "leave out"},
      {R"({"name": "fsdp2", "accumulation": "reduce_scatter"})", "{}", "without replicas", "shard_group"},
      {R"({"name": "fsdp2", "shard_group": 32})", "{}", "at most the 16 ranks", "lower it"},
      {R"({"name": "fsdp2", "replicas": 3})", "{}", "a divisor of the 16 ranks", "change it"},
      {R"({"name": "ddp", "recompute": {"every": 0}})", "{}", "at least 1", "raise it"},
      {R"({"name": "ddp", "recompute": {"segment": 33}})", "{}", "at most the model's 32 layers", "lower it"},
      {R"({"name": "ddp", "recompute": {"segment": 4, "every": 2}})", "{}", R"(beside "segment")", "one of the two"},
      {R"({"name": "ddp", "recompute": {"segment": 4, "what": "selective"}})", "{}", "selective beside", "leave out"},
      {R"({"name": "ddp", "recompute": "all"})", "{}", R"(found "all")", "choose one"},
      {R"({"name": "ddp", "comm_hook": "bf16"})", R"({"parameter_type": "bf16"})", "would not make smaller", "fp32"},
      {R"({"name": "zero-3"})", R"({"parameter_type": "fp32"})", "for zero-3 under the precision bf16", "masters"},
      {R"({"name": "ddp"})", R"({"reduce_type": "bf16"})", "ddp, which reduces gradients as they are", "comm_hook"},
      {R"({"name": "megatron"})", R"({"reduce_type": "bf16"})", "for megatron", "grad_reduce_in_fp32"},
      {R"({"name": "deepspeed-2", "offload": {"optimizer": "cpu"}})", R"({"optimizer": "paged-adamw"})", "paged",
       "use"},
      {R"({"name": "deepspeed-3", "offload": {"optimizer": "nvme"}})", R"({"optimizer": "adamw-8bit"})", "8-bit",
       "cpu"},
      {R"({"name": "ddp"})", R"({"micro_batch": 0})", "at least 1", "raise it"},
      {R"({"name": "ddp"})", R"({"scaling": "row-wise"})", R"(without "linear_type")", "fp8"},
      {R"({"name": "ddp"})", R"({"linear_type": "bf16"})", "linear layers do not multiply", "choose"},
      {R"({"name": "deepspeed-3", "reduce_bucket_size": 0})", "{}", "at least 1", "raise it"},
  }));
  INFO(each.strategy << " " << each.training);
  auto const refusal = refusal_of(each.strategy, each.training);
  CHECK_THAT(refusal, Contains(each.says) && Contains(each.way_out));
  CHECK(refusal.find('\n') == std::string::npos);
}
