#include "strategies/parts/optimizer.hpp"

#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/written_steps.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using program::MemoryCategory;

namespace {

Plan plan_with(Optimizer optimizer, DataType precision = DataType::kFp32) {
  return {.strategy = StrategyName::kNaive,
          .parallel = {.data = 2},
          .batch = {.micro_batch = 1, .global_batch = 2, .sequence_length = 8},
          .kernels = {.precision = precision},
          .states = {.optimizer = optimizer}};
}

/// Bytes that those memory-bound kernels of a rank move that `counts` says, for each parameter of the model.
template <class Counts>
double bytes_moved(program::StepProgram const& step, Counts counts) {
  auto bytes = 0.0;
  for (auto const& op : step.roles.front().operations)
    if (auto const* kernel = std::get_if<program::Elementwise>(&op.work); kernel != nullptr && counts(op))
      bytes += static_cast<double>(kernel->elements.base) * kernel->bytes_per_element;
  return bytes / static_cast<double>(parameter_count(tiny_llama()));
}

/// Of the scope "optimizer".
double bytes_moved(Plan const& plan) {
  auto const step = compiled(tiny_llama(), plan);
  return bytes_moved(step, [&](program::Operation const& op) { return step.text(op.scope) == "optimizer"; });
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
  CHECK(bytes_moved(plan_with(Optimizer::kAdamWFused)) == 28);
  CHECK(bytes_moved(plan_with(Optimizer::kAdamWFused, DataType::kBf16)) == 28);
  CHECK(bytes_moved(plan_with(Optimizer::kAdamWForeach)) == 80);
  CHECK(bytes_moved(plan_with(Optimizer::kAdamWForeach, DataType::kBf16)) == 92);
  CHECK(bytes_moved(plan_with(Optimizer::kSgdMomentum)) == 20);
  CHECK(bytes_moved(plan_with(Optimizer::kAdamW8Bit)) == 16);
  // p read and written, g read; with a master in fp32, gradient and copy in 16 bits: 8 + 2 + 2.
  CHECK(bytes_moved(plan_with(Optimizer::kSgd)) == 12);
  CHECK(bytes_moved(plan_with(Optimizer::kSgd, DataType::kBf16)) == 12);
}

TEST_CASE("before PyTorch 2.1, foreach AdamW makes a second temporary of 4 bytes and moves as much", "[optimizer]") {
  auto plan = plan_with(Optimizer::kAdamWForeach);
  auto const temporaries = [&] {
    auto bytes = 0.0;
    auto const step = compiled(tiny_llama(), plan);
    for (auto const& buffer : step.roles.front().buffers)
      if (buffer.category == MemoryCategory::kWorkspace) bytes += bytes_of(buffer);
    return bytes / static_cast<double>(parameter_count(tiny_llama()));
  };
  auto const now = temporaries();
  plan.states.has_old_foreach = true;
  CHECK(temporaries() - now == 4);
  CHECK(bytes_moved(plan) == 80);
}

TEST_CASE("an optimizer holds its states, and masters where parameters have 16 bits", "[optimizer][memory]") {
  CHECK(bytes_held(plan_with(Optimizer::kAdamWFused)) == 8);
  CHECK(bytes_held(plan_with(Optimizer::kAdamWFused, DataType::kBf16)) == 12);
  CHECK(bytes_held(plan_with(Optimizer::kSgdMomentum)) == 4);
  CHECK(bytes_held(plan_with(Optimizer::kSgd)) == 0);
  CHECK(bytes_held(plan_with(Optimizer::kSgd, DataType::kBf16)) == 4);  // masters
  // Two bytes, and two scales of 4 bytes for every 256 parameters.
  CHECK(bytes_held(plan_with(Optimizer::kAdamW8Bit)) == Approx(2 + 8.0 / 256).epsilon(1e-3));
}

TEST_CASE("a paged optimizer brings its moments in for the update and takes them back", "[optimizer][memory]") {
  // Two moments of 4 bytes or of 1, each way, for every parameter; what is moved meanwhile is no state of the device.
  for (auto const& [optimizer, bytes] : {std::pair{Optimizer::kPagedAdamW, 8.0}, {Optimizer::kPagedAdamW8Bit, 2.0}}) {
    auto const step = compiled(tiny_llama(), plan_with(optimizer));
    auto in = 0.0;
    auto out = 0.0;
    for (auto const& op : step.roles.front().operations)
      if (auto const* const copy = std::get_if<program::Copy>(&op.work); copy != nullptr)
        (copy->direction == program::CopyDirection::kHostToDevice ? in : out) += static_cast<double>(copy->bytes.base);
    auto const parameters = static_cast<double>(parameter_count(tiny_llama()));
    INFO(name_of(optimizer));
    CHECK(in == bytes * parameters);
    CHECK(out == bytes * parameters);
  }
  auto const moved = [](Optimizer optimizer) { return bytes_moved(plan_with(optimizer)); };
  CHECK(moved(Optimizer::kPagedAdamW) == moved(Optimizer::kAdamWFused));
  CHECK(moved(Optimizer::kPagedAdamW8Bit) == moved(Optimizer::kAdamW8Bit));
}

TEST_CASE("multi-tensor kernels take 320 chunks of 65,536 elements, and 36 tensors", "[optimizer]") {
  CHECK(multi_tensor_launches(100, 1) == 1);
  CHECK(multi_tensor_launches(100, 37) == 2);
  CHECK(multi_tensor_launches(320 * 65'536 + 1, 1) == 2);
}

TEST_CASE("clipping reads every gradient once for the norm, then scales it", "[optimizer][clip]") {
  auto plan = plan_with(Optimizer::kAdamWFused);
  plan.states.clips_gradients = true;
  // 4 + 8 bytes, and 4 for the norm itself.
  CHECK(bytes_moved(plan) == Approx(28 + 12).epsilon(1e-3));
}

TEST_CASE("a norm crosses the wire only where ranks hold different shards", "[optimizer][clip]") {
  auto const numbers_reduced = [](StrategyName name) {
    auto plan = plan_with(Optimizer::kAdamWFused);
    plan.strategy = name;
    auto const before = wire_elements(compiled(tiny_llama(), plan), CollectiveKind::kAllReduce);
    plan.states.clips_gradients = true;
    return wire_elements(compiled(tiny_llama(), plan), CollectiveKind::kAllReduce) - before;
  };
  CHECK(numbers_reduced(StrategyName::kNaive) == 0);
  CHECK(numbers_reduced(StrategyName::kDdp) == 0);
  CHECK(numbers_reduced(StrategyName::kZero1) == 1);
  CHECK(numbers_reduced(StrategyName::kZero3) == 1);
  CHECK(numbers_reduced(StrategyName::kMegatron) == 1);
}

TEST_CASE("Megatron's host waits for the norm, others' hosts do not", "[optimizer][clip]") {
  auto plan = plan_with(Optimizer::kAdamWFused);
  plan.states.clips_gradients = true;
  CHECK(operations_called(compiled(tiny_llama(), plan), "gradient_norm.item").empty());
  plan.strategy = StrategyName::kMegatron;
  CHECK(operations_called(compiled(tiny_llama(), plan), "gradient_norm.item").size() == 1);
}

TEST_CASE("gradients in host memory are clipped there, and the norm alone goes over the wire",
          "[optimizer][clip][offload]") {
  // Of half the parameters, in fp32: 4 bytes for the norm and 8 for the clipping, on the host's stream.
  for (auto const strategy : {StrategyName::kFsdp1, StrategyName::kFsdp2}) {
    auto plan = plan_with(Optimizer::kAdamWFused);
    plan.strategy = strategy;
    plan.states.offload.parameters = plan.states.offload.optimizer = OffloadPlace::kCpu;
    auto const without = compiled(tiny_llama(), plan);
    plan.states.clips_gradients = true;
    auto const step = compiled(tiny_llama(), plan);
    auto const on_host = [](program::StepProgram const& of) {
      auto const& streams = of.roles.front().streams;
      return bytes_moved(of, [&](program::Operation const& op) {
        return op.stream.exists() && of.text(streams[op.stream.index()].name) == "cpu";
      });
    };
    INFO(name_of(strategy));
    CHECK(on_host(step) - on_host(without) == Approx(12.0 / 2).epsilon(0.02));
    CHECK(wire_elements(step, CollectiveKind::kAllReduce) == 1);
    CHECK(operations_called(step, "gradient_norm.item").size() == 1);
  }
}

TEST_CASE("Megatron and DeepSpeed copy masters to the model by a kernel of its own", "[optimizer]") {
  // 4 bytes read and 2 written, of half the parameters.
  for (auto const strategy : {StrategyName::kMegatron, StrategyName::kDeepSpeed1, StrategyName::kDeepSpeed3}) {
    auto plan = plan_with(Optimizer::kAdamWFused, DataType::kBf16);
    plan.strategy = strategy;
    auto const step = compiled(tiny_llama(), plan);
    INFO(name_of(strategy));
    CHECK(bytes_moved(step, [&](program::Operation const& op) {
            return step.text(op.name) == "parameters.from_masters";
          }) == Approx(6.0 / 2).epsilon(0.02));
  }
}
