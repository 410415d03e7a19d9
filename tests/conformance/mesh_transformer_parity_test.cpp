#include <fmt/core.h>

#include "tests/conformance/cpu_training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

/// Whose vocabulary two tensor ranks share without padding, which Megatron rounds up to 128 rows.
Transformer with_even_vocabulary(Transformer model) {
  model.vocabulary = 256;
  return model;
}

Plan mesh_plan(Strategy strategy, Parallel const& parallel, std::int64_t micro_batches) {
  return {.strategy = std::move(strategy),
          .parallel = parallel,
          .batch = {.micro_batch = 2, .global_batch = 2 * parallel.data * micro_batches, .sequence_length = 8},
          .kernels = {.precision = DataType::kFp64}};
}

void check(Transformer const& model, Plan const& plan) {
  auto const& parallel = plan.parallel;
  INFO(fmt::format("{}, {}, {} tensor, {} data, {} stages, sequence {}", model.name, name_of(plan.strategy),
                   parallel.tensor, parallel.data, parallel.pipeline.stages, parallel.sequence));
  CHECK(difference_from_one_rank(with_even_vocabulary(model), plan) < kRounding);
}

std::vector<Strategy> some_strategies() {
  auto out = std::vector<Strategy>{};
  for (auto const name : {StrategyName::kNaive, StrategyName::kDdp, StrategyName::kZero1, StrategyName::kMegatron})
    out.push_back(with_buckets(name, 4_KiB, 1_KiB));
  return out;
}

/// The others' partial gradients are not summed yet.
std::vector<Strategy> that_sum_parts() {
  auto out = some_strategies();
  using enum StrategyName;
  for (auto const name : {kZero2, kFsdp1, kFsdp2}) out.push_back(with_buckets(name, 4_KiB, 1_KiB));
  return out;
}

}  // namespace

TEST_CASE("two tensor ranks train a transformer like a single rank", "[conformance][transformer][mesh][cpu]") {
  for (auto const& strategy : some_strategies())
    for (std::int64_t const data : {1, 2})
      for (auto const& model : {small_llama(), small_gpt()})
        check(model, mesh_plan(strategy, {.data = data, .tensor = 2}, 2));
}

TEST_CASE("… and share the sequence between linear layers", "[conformance][transformer][mesh][cpu]") {
  for (auto const& strategy : that_sum_parts())
    for (std::int64_t const data : {1, 2}) {
      auto biased = small_llama();
      biased.qkv_bias = biased.attention_output_bias = biased.mlp_bias = true;
      for (auto const& model : {small_llama(), biased})
        check(model, mesh_plan(strategy, {.data = data, .tensor = 2, .sequence = true}, 2));
    }
}

TEST_CASE("… by either cross-entropy, attention written out, whatever is recomputed",
          "[conformance][transformer][mesh][cpu]") {
  for (auto const sequence : {false, true})
    for (auto const loss : {CrossEntropy::kPlain, CrossEntropy::kFused})
      for (auto const recompute : {Recompute::kNone, Recompute::kFull, Recompute::kSelective}) {
        auto plan = mesh_plan(StrategyName::kMegatron, {.data = 1, .tensor = 2, .sequence = sequence}, 2);
        plan.kernels.cross_entropy = loss;
        plan.kernels.recompute = recompute;
        plan.kernels.flash_attention = recompute != Recompute::kNone;
        INFO(name_of(loss) << ", " << name_of(recompute));
        check(small_llama(), plan);
      }
}

TEST_CASE("stages of a pipeline train a transformer like a single rank", "[conformance][transformer][mesh][cpu]") {
  for (auto const& strategy : some_strategies())
    for (std::int64_t const data : {1, 2})
      for (auto const& model : {small_llama(), small_gpt()})
        check(model, mesh_plan(strategy, {.data = data, .pipeline = {.stages = 2}}, 4));
}

TEST_CASE("tensor ranks of every stage train a transformer like a single rank",
          "[conformance][transformer][mesh][cpu]") {
  for (auto const& strategy : some_strategies())
    for (auto const sequence : {false, true})
      for (auto const& model : {small_llama(), small_gpt()}) {
        if (sequence && model.positions > 0) continue;  // learned positions are added to the rank's own tokens
        check(model, mesh_plan(strategy, {.data = 2, .tensor = 2, .sequence = sequence, .pipeline = {.stages = 2}}, 4));
      }
}

// Four stages of two layers, or of two chunks of one layer each.
TEST_CASE("every schedule trains a transformer like a single rank, alone and with other degrees",
          "[conformance][transformer][mesh][cpu]") {
  using enum PipelineSchedule;
  auto model = small_llama();
  model.layers = 8;
  for (auto const schedule :
       {kGpipe, kOneForwardOneBackward, kInterleaved, kInterleavedZeroBubble, kZeroBubbleV, kDualPipeV}) {
    auto const chunks = schedule == kGpipe || schedule == kOneForwardOneBackward ? 1 : 2;
    for (std::int64_t const micro_batches : {8, 9, 11}) {
      // A last group with fewer micro-batches than stages would get stuck.
      auto const group = micro_batches % 4 == 0 ? 4 : micro_batches;
      auto parallel = Parallel{.pipeline = {.stages = 4, .chunks = chunks, .schedule = schedule, .group = group}};
      if (micro_batches == 9) parallel.tensor = 2;
      if (micro_batches == 9) parallel.sequence = schedule != kGpipe;
      if (micro_batches == 11) parallel.data = 2;
      auto const strategy = micro_batches == 8 ? StrategyName::kDdp : StrategyName::kMegatron;
      INFO(name_of(schedule) << ", " << micro_batches << " micro-batches");
      check(model, mesh_plan(with_buckets(strategy, 4_KiB, 1_KiB), parallel, micro_batches));
    }
  }
}
