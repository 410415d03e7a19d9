#include <string>

#include "tests/conformance/cpu_training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

Plan fp64_fsdp_plan(StrategyName strategy, std::int64_t ranks, std::int64_t micro_batches) {
  return {.strategy = strategy,
          .parallel = {.data = ranks},
          .batch = {.micro_batch = 2, .global_batch = 2 * ranks * micro_batches},
          .kernels = {.precision = DataType::kFp64}};
}

/// Three steps of AdamW move weights as one rank with the whole batch moves them; rounding apart (see
/// training_parity_test.cpp).
void check_trains_alike(Plan const& plan) {
  CHECK(difference_from_one_rank(plan) < 1e-12);
}

}  // namespace

TEST_CASE("FSDP1 trains like a single rank, whatever it shards, prefetches and reduces", "[conformance][fsdp][cpu]") {
  using Sharding = Fsdp1Options::Sharding;
  using Prefetch = Fsdp1Options::Prefetch;
  using Accumulation = FsdpAccumulation;
  for (auto const sharding : {Sharding::kFullShard, Sharding::kShardGradOp, Sharding::kNoShard, Sharding::kHybridShard,
                              Sharding::kHybridShardZero2})
    for (auto const prefetch : {Prefetch::kBackwardPre, Prefetch::kBackwardPost, Prefetch::kNone})
      for (auto const accumulation : {Accumulation::kReduce, Accumulation::kNoSync})
        for (std::int64_t const ranks : {1, 4, 6}) {
          auto plan = fp64_fsdp_plan(StrategyName::kFsdp1, ranks, 3);
          plan.strategy =
              Fsdp1Options{.sharding = sharding, .backward_prefetch = prefetch, .accumulation = accumulation};
          fsdp1_of(plan).forward_prefetch = prefetch == Prefetch::kBackwardPost;
          if (sharding == Sharding::kHybridShard || sharding == Sharding::kHybridShardZero2)
            plan.parallel.shard_group = ranks / 2;
          if (plan.parallel.shard_group == 0 && sharding == Sharding::kHybridShard) continue;
          INFO(name_of(sharding) << ", " << name_of(prefetch) << ", " << name_of(accumulation) << ", " << ranks);
          check_trains_alike(plan);
        }
}

TEST_CASE("FSDP2 trains like a single rank, whatever it reshards and reduces", "[conformance][fsdp][cpu]") {
  using Accumulation = FsdpAccumulation;
  for (std::int64_t const ranks : {1, 3, 4, 6})
    for (std::int64_t const group : {ranks, ranks / 2})
      for (std::int64_t const reshard : {std::int64_t{0}, std::int64_t{1}, ranks / 2})
        for (auto const accumulation : {Accumulation::kReduce, Accumulation::kReduceScatter, Accumulation::kNoSync}) {
          if (group == 0 || ranks % group != 0 || (reshard > 1 && (group != ranks || ranks % reshard != 0))) continue;
          auto plan = fp64_fsdp_plan(StrategyName::kFsdp2, ranks, 2);
          plan.parallel.shard_group = group;
          plan.strategy = Fsdp2Options{.reshard_after_forward = reshard, .accumulation = accumulation};
          INFO(ranks << " in groups of " << group << ", reshard " << reshard << ", " << name_of(accumulation));
          check_trains_alike(plan);
        }
}

TEST_CASE("FSDP trains like a single rank with recomputation and states in host memory, clipped or not",
          "[conformance][fsdp][cpu]") {
  for (auto const strategy : {StrategyName::kFsdp1, StrategyName::kFsdp2})
    for (auto const clips : {false, true})
      for (std::int64_t const ranks : {1, 4}) {
        auto plan = fp64_fsdp_plan(strategy, ranks, 2);
        plan.kernels.recompute = Recompute::kFull;
        plan.states.clips_gradients = clips;
        check_trains_alike(plan);
        plan.states.offload.parameters = plan.states.offload.optimizer = OffloadPlace::kCpu;
        check_trains_alike(plan);
      }
}
