#include <array>

#include <fmt/core.h>

#include "tests/conformance/cpu_training.hpp"
#include "tests/conformance/transformer_reference.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

constexpr std::int64_t kLength = 8;

std::array<Transformer, 2> both() {
  return {small_llama(), small_gpt()};
}

Plan fp64_plan(Strategy strategy, std::int64_t ranks, std::int64_t micro_batches) {
  return {.strategy = std::move(strategy),
          .parallel = {.data = ranks},
          .batch = {.micro_batch = 1, .global_batch = ranks * micro_batches, .sequence_length = kLength},
          .kernels = {.precision = DataType::kFp64}};
}

void check_reference(Transformer const& model, Plan plan) {
  INFO(model.name);
  plan.batch.micro_batch = plan.batch.global_batch = 2;
  auto const reference = reference_training(model, 2, kLength);
  CHECK(largest_difference(train(model, plan, on_cpus), reference) < kRounding);
}

void check_alike(Plan const& plan) {
  for (auto const& model : both()) {
    INFO(model.name);
    CHECK(difference_from_one_rank(model, plan) < kRounding);
  }
}

/// What every framework's strategy is by default, with buckets of a few tensors.
std::vector<Strategy> strategies_of_all_frameworks() {
  auto out = std::vector<Strategy>{};
  for (auto const name : kAllStrategies) out.push_back(with_buckets(name, 4_KiB, 1_KiB));
  for (auto const name : {StrategyName::kFsdp1, StrategyName::kFsdp2}) out.emplace_back(name);
  for (auto const name : {StrategyName::kDeepSpeed1, StrategyName::kDeepSpeed2, StrategyName::kDeepSpeed3})
    out.push_back(Strategy{DeepSpeedOptions{.reduce_bucket_size = 500,
                                            .stage3_prefetch_bucket_size = 500,
                                            .stage3_param_persistence_threshold = 16,
                                            .stage3_max_reuse_distance = 500,
                                            .sub_group_size = 333}}
                      .changed_to(name));
  return out;
}

}  // namespace

TEST_CASE("a transformer trains as automatic differentiation of its definition says",
          "[conformance][transformer][cpu]") {
  for (auto const& model : both()) check_reference(model, fp64_plan(StrategyName::kNaive, 1, 1));
}

TEST_CASE("… with every choice of its kernels", "[conformance][transformer][cpu]") {
  for (auto const& model : both())
    for (auto const flash : {true, false})
      for (auto const loss : {CrossEntropy::kPlain, CrossEntropy::kFused, CrossEntropy::kChunked})
        for (auto const activation : {Activation::kEager, Activation::kFused, Activation::kRecomputed}) {
          if (!model.gated_mlp && activation != Activation::kEager) continue;
          auto plan = fp64_plan(StrategyName::kNaive, 1, 1);
          plan.kernels.flash_attention = flash;
          plan.kernels.cross_entropy = loss;
          plan.kernels.activation = activation;
          INFO(fmt::format("flash {}, loss {}, activation {}", flash, name_of(loss), name_of(activation)));
          check_reference(model, plan);
        }
}

TEST_CASE("… and in the forms that other models have", "[conformance][transformer][cpu]") {
  auto relu = small_gpt();
  relu.relu = true;
  relu.tied_embeddings = false;
  check_reference(relu, fp64_plan(StrategyName::kNaive, 1, 1));
  auto biased = small_llama();  // Qwen 2
  biased.qkv_bias = true;
  check_reference(biased, fp64_plan(StrategyName::kNaive, 1, 1));
  auto plain = small_gpt();
  plain.norm_bias = false;
  check_reference(plain, fp64_plan(StrategyName::kNaive, 1, 1));
  auto parallel = small_gpt();  // GPT-NeoX: half of each head turns
  parallel.positions = 0;
  parallel.rotary_size = 2;
  parallel.parallel_branches = true;
  check_reference(parallel, fp64_plan(StrategyName::kNaive, 1, 1));
  auto normed = small_llama();  // Qwen 3
  normed.query_key_norm = true;
  check_reference(normed, fp64_plan(StrategyName::kNaive, 1, 1));
}

TEST_CASE("every strategy trains a transformer like a single rank", "[conformance][transformer][cpu]") {
  for (auto const& strategy : strategies_of_all_frameworks())
    for (std::int64_t const ranks : {1, 2, 3})
      for (std::int64_t const micro_batches : {1, 2}) {
        INFO(fmt::format("{}, {} ranks, {} micro-batches", name_of(strategy), ranks, micro_batches));
        check_alike(fp64_plan(strategy, ranks, micro_batches));
      }
}

TEST_CASE("… whatever is recomputed, and by whatever kernels", "[conformance][transformer][cpu]") {
  for (auto const& strategy : strategies_of_all_frameworks())
    for (auto const recompute : {Recompute::kFull, Recompute::kSelective, Recompute::kPerOp})
      for (auto const flash : {true, false}) {
        INFO(fmt::format("{}, recompute {}, flash {}", name_of(strategy), name_of(recompute), flash));
        auto plan = fp64_plan(strategy, 2, 2);
        plan.kernels.recompute = recompute;
        plan.kernels.flash_attention = flash;
        plan.kernels.cross_entropy = flash ? CrossEntropy::kChunked : CrossEntropy::kFused;
        check_alike(plan);
      }
}

TEST_CASE("in fp32 gradients of a transformer are right to 1e-4", "[conformance][transformer][cpu]") {
  for (auto const& model : both()) {
    INFO(model.name);
    auto plan = fp64_plan(StrategyName::kNaive, 1, 2);
    auto const exact = first_gradients(model, plan, on_cpus);
    plan.kernels.precision = DataType::kFp32;
    CHECK(largest_difference(first_gradients(model, plan, on_cpus), exact) < 1e-4);
  }
}
