#include <array>

#include <fmt/core.h>

#include "tests/conformance/cpu_training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

constexpr std::int64_t kMicroBatch = 2;

Plan fp64_plan(StrategyName name, std::int64_t ranks, std::int64_t micro_batches) {
  return {.strategy = with_buckets(name, 1_KiB, 256_B),
          .parallel = {.data = ranks},
          .batch = {.micro_batch = kMicroBatch, .global_batch = kMicroBatch * ranks * micro_batches},
          .kernels = {.precision = DataType::kFp64}};
}

}  // namespace

// One rank computes the whole global batch at once; the others cut it into ranks and micro-batches. AdamW moves a
// weight by about the learning rate, 3e-4; sums in another order differ by some 1e-16 of the gradients, which it can
// magnify by the ratio of the learning rate to the smallest gradients (about 1e-3 here), so 1e-12 is rounding and
// nothing else.
TEST_CASE("every strategy trains like a single rank", "[conformance][strategies][cpu]") {
  for (auto const recompute : {Recompute::kNone, Recompute::kFull}) {
    for (std::int64_t const ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
      for (std::int64_t const micro_batches : {1, 3}) {
        auto const global_batch = kMicroBatch * ranks * micro_batches;
        auto const reference = train_alone(global_batch, DataType::kFp64, on_cpus);
        for (auto const name : kAllStrategies) {
          INFO(fmt::format("{}, {} ranks, {} micro-batches, recompute {}", name_of(name), ranks, micro_batches,
                           name_of(recompute)));
          auto const trained = train({.strategy = with_buckets(name, 1_KiB, 256_B),
                                      .parallel = {.data = ranks},
                                      .batch = {.micro_batch = kMicroBatch, .global_batch = global_batch},
                                      .kernels = {.precision = DataType::kFp64, .recompute = recompute}},
                                     on_cpus);
          CHECK(largest_difference(trained, reference) < 1e-12);
        }
      }
    }
  }
}

// Mean gradients with many options, each against a single rank.
TEST_CASE("every option of DDP trains like a single rank", "[conformance][strategies][cpu]") {
  for (std::int64_t const ranks : {1, 3, 4}) {
    for (std::int64_t const micro_batches : {1, 3}) {
      for (auto const is_view : {false, true}) {
        for (auto const no_sync : {false, true}) {
          for (auto const ddp : {DdpOptions{}, DdpOptions{.static_graph = true},
                                 DdpOptions{.find_unused_parameters = true}, DdpOptions{.first_iteration = true}}) {
            auto plan = fp64_plan(StrategyName::kDdp, ranks, micro_batches);
            plan.strategy = with_buckets(ddp, 1_KiB, 256_B);
            ddp_of(plan).gradient_as_bucket_view = is_view;
            ddp_of(plan).no_sync = no_sync;
            INFO(fmt::format("{} ranks, {} micro-batches, view {}, no_sync {}, static {}, unused {}, first {}", ranks,
                             micro_batches, is_view, no_sync, ddp.static_graph, ddp.find_unused_parameters,
                             ddp.first_iteration));
            CHECK(difference_from_one_rank(plan) < 1e-12);
          }
        }
      }
    }
  }
}

TEST_CASE("every optimizer, clipped or not, trains like a single rank under every strategy",
          "[conformance][strategies][cpu]") {
  for (auto const optimizer :
       {Optimizer::kAdamWFused, Optimizer::kAdamWForeach, Optimizer::kSgdMomentum, Optimizer::kSgd}) {
    for (auto const clips : {false, true}) {
      for (auto const name : kAllStrategies) {
        for (std::int64_t const ranks : {1, 3, 4}) {
          auto plan = fp64_plan(name, ranks, 2);
          plan.states.optimizer = optimizer;
          plan.states.clips_gradients = clips;
          INFO(fmt::format("{} {} clipped {} on {} ranks", name_of(name), name_of(optimizer), clips, ranks));
          CHECK(difference_from_one_rank(plan) < 1e-12);
        }
      }
    }
  }
}

TEST_CASE("states that groups of ranks share train like a single rank", "[conformance][strategies][cpu]") {
  for (auto const name : {StrategyName::kZero1, StrategyName::kZero2, StrategyName::kZero3}) {
    for (auto const& [ranks, group] : {std::pair{4, 2}, {6, 3}, {6, 2}, {4, 1}, {8, 4}}) {
      for (std::int64_t const micro_batches : {1, 3}) {
        auto plan = fp64_plan(name, ranks, micro_batches);
        plan.parallel.shard_group = group;
        plan.states.clips_gradients = micro_batches == 3;
        INFO(fmt::format("{} {} ranks in groups of {}, {} micro-batches", name_of(name), ranks, group, micro_batches));
        CHECK(difference_from_one_rank(plan) < 1e-12);
      }
    }
  }
}

TEST_CASE("every option of Megatron's distributed optimizer trains like a single rank",
          "[conformance][strategies][cpu]") {
  constexpr auto kOptions = std::to_array<MegatronOptions>({{},
                                                            {.use_distributed_optimizer = false},
                                                            {.overlap_grad_reduce = false},
                                                            {.overlap_param_gather = false},
                                                            {.grad_reduce_in_fp32 = false},
                                                            {.pad_buckets_for_high_nccl_busbw = true}});
  for (auto const& [ranks, group] : {std::pair{1, 0}, {2, 0}, {5, 0}, {8, 0}, {4, 2}, {6, 3}}) {
    for (std::int64_t const micro_batches : {1, 3}) {
      for (auto const& options : kOptions) {
        auto plan = fp64_plan(StrategyName::kMegatron, ranks, micro_batches);
        plan.strategy = options;
        plan.strategy.get<MegatronOptions>().bucket_size = 100;
        plan.parallel.shard_group = group;
        plan.states.clips_gradients = micro_batches == 3;
        INFO(fmt::format("{} ranks in groups of {}, {} micro-batches, distributed {}, overlaps {} {}", ranks, group,
                         micro_batches, options.use_distributed_optimizer, options.overlap_grad_reduce,
                         options.overlap_param_gather));
        CHECK(difference_from_one_rank(plan) < 1e-12);
      }
    }
  }
}

TEST_CASE("every strategy trains like a single rank, whatever is recomputed together and taken to the host",
          "[conformance][strategies][cpu][recompute]") {
  constexpr auto kScopes = std::to_array<RecomputeScope>(
      {{}, {.every = 2}, {.segment = 2}, {.segment = 3}, {.segment = 4}, {.first = 2}, {.segment = 2, .first = 3}});
  for (auto const name : kAllStrategies) {
    for (auto const& scope : kScopes) {
      for (auto const offloads : {false, true}) {
        auto plan = fp64_plan(name, 3, 2);
        plan.kernels.recompute = Recompute::kFull;
        plan.kernels.recompute_scope = scope;
        plan.states.offload.activations = offloads;
        INFO(fmt::format("{}, every {}, segments of {}, the first {}, offload {}", name_of(name), scope.every,
                         scope.segment, scope.first.value_or(4), offloads));
        CHECK(difference_from_one_rank(plan) < 1e-12);
      }
    }
    for (auto const recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kPerOp}) {
      auto plan = fp64_plan(name, 3, 2);
      plan.kernels.recompute = recompute;
      plan.states.offload.activations = true;
      INFO(fmt::format("{}, recompute {}, offload", name_of(name), name_of(recompute)));
      CHECK(difference_from_one_rank(plan) < 1e-12);
    }
  }
}

TEST_CASE("the norm of the gradients is above what they are clipped to, so that clipping tells",
          "[conformance][strategies][cpu]") {
  auto plan = fp64_plan(StrategyName::kNaive, 2, 1);
  plan.states.optimizer = Optimizer::kSgdMomentum;
  auto const unclipped = train(plan, on_cpus, kLarge);
  plan.states.clips_gradients = true;
  CHECK(largest_difference(train(plan, on_cpus, kLarge), unclipped) > 1e-6);
}

TEST_CASE("every stage of DeepSpeed trains like a single rank", "[conformance][strategies][cpu]") {
  // odd_mlp has tensors of 77, 143, 65 and 15 elements: buckets of 100 hold two of them or one that is larger.
  using enum StrategyName;
  for (auto const name : {kDeepSpeed1, kDeepSpeed2, kDeepSpeed3}) {
    for (std::int64_t const ranks : {1, 2, 3, 4, 7}) {
      for (std::int64_t const micro_batches : {1, 3}) {
        for (auto const overlaps : {false, true}) {
          for (std::int64_t const bucket : {100, 1000}) {
            for (auto const place : {OffloadPlace::kNone, OffloadPlace::kCpu}) {
              auto plan = fp64_plan(name, ranks, micro_batches);
              plan.kernels.recompute = overlaps ? Recompute::kFull : Recompute::kNone;
              plan.states.clips_gradients = micro_batches == 3;
              plan.states.offload.optimizer = place;
              if (name == kDeepSpeed3 && bucket == 100) plan.states.offload.parameters = place;
              deepspeed_of(plan).overlap_comm = overlaps;
              deepspeed_of(plan).reduce_bucket_size = bucket;
              deepspeed_of(plan).stage3_prefetch_bucket_size = bucket;
              deepspeed_of(plan).stage3_max_reuse_distance = bucket;
              deepspeed_of(plan).stage3_param_persistence_threshold = 15;
              deepspeed_of(plan).sub_group_size = 33;
              INFO(fmt::format("{} {} ranks, {} micro-batches, overlap {}, buckets of {}, offload {}", name_of(name),
                               ranks, micro_batches, overlaps, bucket, name_of(place)));
              CHECK(difference_from_one_rank(plan) < 1e-12);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("every way in which DeepSpeed reduces and shards trains like a single rank",
          "[conformance][strategies][cpu]") {
  using enum StrategyName;
  constexpr auto kOptions = std::to_array<DeepSpeedOptions>({{.reduce_scatter = false},
                                                             {.use_multi_rank_bucket_allreduce = false},
                                                             {.stage3_param_persistence_threshold = 0},
                                                             {.stage3_max_live_parameters = 150},
                                                             {.zero_hpz_partition_size = 2}});
  for (auto const name : {kDeepSpeed1, kDeepSpeed2, kDeepSpeed3}) {
    for (std::int64_t const ranks : {2, 4, 6}) {
      for (auto const& options : kOptions) {
        auto plan = fp64_plan(name, ranks, 2);
        plan.strategy = Strategy{options}.changed_to(name);
        deepspeed_of(plan).reduce_bucket_size = 100;
        deepspeed_of(plan).stage3_prefetch_bucket_size = 100;
        deepspeed_of(plan).stage3_max_reuse_distance = 50;
        if (options.stage3_param_persistence_threshold > 0) deepspeed_of(plan).stage3_param_persistence_threshold = 15;
        INFO(fmt::format("{} {} ranks, reduce_scatter {}, all-reduce {}, live {}, hpZ {}", name_of(name), ranks,
                         options.reduce_scatter, options.use_multi_rank_bucket_allreduce,
                         options.stage3_max_live_parameters, options.zero_hpz_partition_size));
        CHECK(difference_from_one_rank(plan) < 1e-12);
      }
    }
  }
}
