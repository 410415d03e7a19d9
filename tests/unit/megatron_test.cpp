#include <vector>

#include <fmt/core.h>

#include "sim/program/matching.hpp"
#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"
#include "strategies/megatron/bucket_layout.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/written_steps.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using program::MemoryCategory;

namespace {

Plan megatron_plan(MegatronOptions const& options, std::int64_t ranks = 4) {
  return {.strategy = options,
          .parallel = {.data = ranks},
          .batch = {.micro_batch = 1, .global_batch = 2 * ranks, .sequence_length = 8}};
}

/// Model states of LLaMA-2-7B while the optimizer runs, bytes a parameter.
double states(Plan plan) {
  plan.batch.sequence_length = 16;
  auto const step = compiled(llama_2_7b(), plan);
  auto bytes = std::int64_t{0};
  for (auto const category : {MemoryCategory::kParameters, MemoryCategory::kGradients, MemoryCategory::kOptimizer})
    bytes += bytes_at_update(step, category);
  return static_cast<double>(bytes) / static_cast<double>(parameter_count(llama_2_7b()));
}

}  // namespace

// docs/user-guide/features/dist_optimizer.md; LLaMA-2-7B's tensors are multiples of 64, so padding is next to nothing.
TEST_CASE("Megatron's states take the bytes that its guide says", "[megatron][memory]") {
  auto const alone = MegatronOptions{.use_distributed_optimizer = false, .overlap_param_gather = false};
  CHECK(states(megatron_plan(alone, 8)) == Approx(18));
  CHECK(states(megatron_plan({}, 8)) == Approx(6 + 12.0 / 8).epsilon(1e-4));
  CHECK(states(megatron_plan({}, 64)) == Approx(6 + 12.0 / 64).epsilon(1e-4));
  CHECK(states(megatron_plan({.grad_reduce_in_fp32 = false}, 8)) == Approx(4 + 16.0 / 8).epsilon(1e-4));
  auto fp32 = megatron_plan({}, 8);
  fp32.kernels.precision = DataType::kFp32;
  CHECK(states(fp32) == Approx(8 + 8.0 / 8).epsilon(1e-4));
}

// odd_mlp from the last tensor on: 15, 65, 143, 77 elements. Tensors begin at multiples of 64: 15 ends at 15, 65 at
// 129, which reaches 100; the bucket ends at lcm(3, 128) = 384. 143 reaches 100 by itself, and so 77 is left.
TEST_CASE("Megatron's buckets run from the model's end, aligned and padded to divide", "[megatron]") {
  auto const work = work_of(odd_mlp(), {.micro_batch = 1});
  auto const parameters = Parameters{work};
  auto const ends = [&](MegatronOptions options) {
    options.bucket_size = 100;
    auto const layout = megatron_layout(parameters, options, 3, 3);
    auto found = std::vector<std::int64_t>{};
    for (auto const& bucket : layout.groups()) found.push_back(bucket.begin + bucket.elements);
    return found;
  };
  using Ends = std::vector<std::int64_t>;
  CHECK(ends({}) == Ends{384, 768, 1152});
  CHECK(ends({.pad_buckets_for_high_nccl_busbw = true}) == Ends{3 * 65536, 6 * 65536, 9 * 65536});
  // One bucket: 15; 64 + 65 = 129; 192 + 143 = 335; 384 + 77 = 461, padded to 768.
  CHECK(ends({.overlap_grad_reduce = false, .overlap_param_gather = false}) == Ends{768});
  // Without shards nothing is padded.
  CHECK(ends({.use_distributed_optimizer = false}) == Ends{223, 300});
}

TEST_CASE("a step begins with gathering what the last one updated, a bucket ahead of the forward", "[megatron]") {
  auto const count = [](MegatronOptions const& options) {
    auto const step = compiled(llama_2_7b(), megatron_plan(options));
    auto const gathers = operations_called(step, "bucket.all_gather");
    auto const updates = operations_called(step, "adamw");
    return std::tuple{gathers.size(), operations_called(step, "bucket.reduce_scatter").size(),
                      gathers.back() < updates.front()};
  };
  // 6.74e9 parameters; buckets of 40 million elements close with a tensor of 16.8 (attention), 45.1 (MLP) or 131
  // million (embedding, head), so each is between 40 and 176 million.
  auto const [gathers, reductions, are_first] = count({});
  CHECK(gathers == reductions);
  CHECK(gathers > 6738 / 176);
  CHECK(gathers <= 6738 / 40);
  CHECK(are_first);
  CHECK(!std::get<bool>(count({.overlap_param_gather = false})));
}

TEST_CASE("several instances of the optimizer reduce-scatter inside, then all-reduce shards across", "[megatron]") {
  auto plan = megatron_plan({}, 8);
  auto const moved = [&](CollectiveKind kind) { return wire_elements(compiled(tiny_llama(), plan), kind); };
  auto const whole = moved(CollectiveKind::kReduceScatter);
  CHECK(moved(CollectiveKind::kAllGather) == whole);
  CHECK(moved(CollectiveKind::kAllReduce) == 0);
  plan.parallel.shard_group = 4;
  CHECK(moved(CollectiveKind::kReduceScatter) == whole);
  CHECK(moved(CollectiveKind::kAllReduce) == whole / 4);
}

TEST_CASE("every option of Megatron gives programs that are well-formed, free of races, and whose collectives meet",
          "[megatron][program]") {
  constexpr auto kOptions =
      std::to_array<MegatronOptions>({{},
                                      {.use_distributed_optimizer = false, .overlap_param_gather = false},
                                      {.overlap_grad_reduce = false, .overlap_param_gather = false},
                                      {.overlap_param_gather = false},
                                      {.grad_reduce_in_fp32 = false},
                                      {.bucket_size = 5000, .pad_buckets_for_high_nccl_busbw = true}});
  for (auto const& model : {ModelSpec{tiny_llama()}, ModelSpec{tiny_gpt2()}, ModelSpec{llama_2_7b()}}) {
    for (auto const& options : kOptions) {
      for (auto const group : {0, 2}) {
        auto plan = megatron_plan(options);
        plan.parallel.shard_group = group;
        plan.states.clips_gradients = true;
        auto const step = compiled(model, plan);
        INFO(fmt::format("{} in groups of {}", model_name(model), group));
        CHECK(find_defects(step) == std::vector<std::string>{});
        CHECK(find_races(step) == std::vector<std::string>{});
        CHECK(find_mismatches(step) == std::vector<std::string>{});
      }
    }
  }
}
