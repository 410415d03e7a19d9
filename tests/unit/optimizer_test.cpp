#include "strategies/optimizer.hpp"

#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/written_steps.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using program::CollectiveKind;
using program::MemoryCategory;

namespace {

Plan plan_of(Optimizer optimizer, DataType precision = DataType::kFp32) {
  return {.strategy = StrategyName::kNaive,
          .ranks = 2,
          .micro_batch = 1,
          .global_batch = 2,
          .sequence_length = 8,
          .precision = precision,
          .optimizer = optimizer};
}

/// Bytes of HBM that the kernels of the scope "optimizer" move, for each parameter.
double bytes_moved(Plan const& plan) {
  auto const step = compiled(tiny_llama(), plan);
  auto bytes = 0.0;
  for (auto const& op : step.roles.front().operations)
    if (auto const* kernel = std::get_if<program::Elementwise>(&op.work);
        kernel != nullptr && step.text(op.scope) == "optimizer")
      bytes += static_cast<double>(kernel->elements.base) * kernel->bytes_per_element;
  return bytes / static_cast<double>(parameter_count(tiny_llama()));
}

double bytes_held(Plan const& plan) {
  return static_cast<double>(bytes_at_update(compiled(tiny_llama(), plan), MemoryCategory::kOptimizer)) /
         static_cast<double>(parameter_count(tiny_llama()));
}

}  // namespace

// p, m, v read and written, g read: 28; with a master in fp32, gradient and copy in 16 bits: 24 + 2 + 2. Foreach: mul_
// 8, lerp_ 12, mul_ 8, addcmul_ 12, sqrt 8, div_ 8, add_ 8, addcdiv_ 16; in 16 bits the gradient is cast first (6) and
// the master copied last (6).
TEST_CASE("an optimizer moves the bytes of its passes", "[optimizer]") {
  CHECK(bytes_moved(plan_of(Optimizer::kAdamWFused)) == 28);
  CHECK(bytes_moved(plan_of(Optimizer::kAdamWFused, DataType::kBf16)) == 28);
  CHECK(bytes_moved(plan_of(Optimizer::kAdamWForeach)) == 80);
  CHECK(bytes_moved(plan_of(Optimizer::kAdamWForeach, DataType::kBf16)) == 92);
  CHECK(bytes_moved(plan_of(Optimizer::kSgdMomentum)) == 20);
  CHECK(bytes_moved(plan_of(Optimizer::kAdamW8Bit)) == 16);
}

TEST_CASE("an optimizer holds its states, and masters where parameters have 16 bits", "[optimizer][memory]") {
  CHECK(bytes_held(plan_of(Optimizer::kAdamWFused)) == 8);
  CHECK(bytes_held(plan_of(Optimizer::kAdamWFused, DataType::kBf16)) == 12);
  CHECK(bytes_held(plan_of(Optimizer::kSgdMomentum)) == 4);
  // Two bytes, and two scales of 4 bytes for every 256 parameters.
  CHECK(bytes_held(plan_of(Optimizer::kAdamW8Bit)) == Approx(2 + 8.0 / 256).epsilon(1e-3));
}

TEST_CASE("multi-tensor kernels take 320 chunks of 65,536 elements, and 36 tensors", "[optimizer]") {
  CHECK(multi_tensor_launches(100, 1) == 1);
  CHECK(multi_tensor_launches(100, 37) == 2);
  CHECK(multi_tensor_launches(320 * 65'536 + 1, 1) == 2);
}

TEST_CASE("clipping reads every gradient once for the norm, then scales it", "[optimizer][clip]") {
  auto plan = plan_of(Optimizer::kAdamWFused);
  plan.clips_gradients = true;
  // 4 + 8 bytes, and 4 for the norm itself.
  CHECK(bytes_moved(plan) == Approx(28 + 12).epsilon(1e-3));
}

TEST_CASE("a norm crosses the wire only where ranks hold different shards", "[optimizer][clip]") {
  auto const numbers_reduced = [](StrategyName name) {
    auto plan = plan_of(Optimizer::kAdamWFused);
    plan.strategy = name;
    auto const before = wire_elements(compiled(tiny_llama(), plan), CollectiveKind::kAllReduce);
    plan.clips_gradients = true;
    return wire_elements(compiled(tiny_llama(), plan), CollectiveKind::kAllReduce) - before;
  };
  CHECK(numbers_reduced(StrategyName::kNaive) == 0);
  CHECK(numbers_reduced(StrategyName::kDdp) == 0);
  CHECK(numbers_reduced(StrategyName::kZero1) == 1);
  CHECK(numbers_reduced(StrategyName::kZero3) == 1);
  CHECK(numbers_reduced(StrategyName::kMegatron) == 1);
}

TEST_CASE("Megatron's host waits for the norm, others' hosts do not", "[optimizer][clip]") {
  auto plan = plan_of(Optimizer::kAdamWFused);
  plan.clips_gradients = true;
  CHECK(operations_called(compiled(tiny_llama(), plan), "gradient_norm.item").empty());
  plan.strategy = StrategyName::kMegatron;
  CHECK(operations_called(compiled(tiny_llama(), plan), "gradient_norm.item").size() == 1);
}
