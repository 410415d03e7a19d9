#include "strategies/analytic/formulas.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/formulas.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies::analytic;

namespace {

double gigabytes(Bytes bytes) {
  return static_cast<double>(bytes.count()) / 1e9;
}

}  // namespace

TEST_CASE("each ZeRO stage divides one more of the model's states", "[analytic]") {
  // Rajbhandari et al., figure 1: 7.5e9 parameters, 64 ranks, K = 12. In bytes for each parameter:
  // 16; 4 + 12/64; 2 + 14/64; 16/64.
  auto const memory = [](ShardedStates sharded) { return model_state_memory(7'500'000'000, 64, sharded); };
  CHECK(memory(ShardedStates::kNone) == 120_GB);
  CHECK(memory(ShardedStates::kOptimizer) == Bytes{31'406'250'000});  // 31.4 GB
  CHECK(memory(ShardedStates::kGradients) == Bytes{16'640'625'000});  // 16.6 GB
  CHECK(memory(ShardedStates::kParameters) == Bytes{1'875'000'000});  // 1.88 GB
}

TEST_CASE("on one rank no sharding changes the model's states", "[analytic]") {
  for (auto const sharded :
       {ShardedStates::kNone, ShardedStates::kOptimizer, ShardedStates::kGradients, ShardedStates::kParameters}) {
    CHECK(model_state_memory(1001, 1, sharded) == Bytes{16 * 1001});
  }
}

TEST_CASE("DeepSpeed's estimator prints what its documentation shows", "[analytic]") {
  // t5-3b, 2851e6 parameters of which its largest layer has 32e6, on 8 GPUs; "GB" are GiB
  // (deepspeed.readthedocs.io, memory requirements).
  auto const gibibytes = [](std::int64_t stage, bool optimizer, bool parameters) {
    auto const bytes = deepspeed_estimate({2'851'000'000, 32'000'000, 8, stage, optimizer, parameters});
    return static_cast<double>(bytes.count()) / (1 << 30);
  };
  CHECK(gibibytes(2, false, false) == Approx(15.93).margin(0.005));
  CHECK(gibibytes(2, true, false) == Approx(5.31).margin(0.005));
  CHECK(gibibytes(3, false, false) == Approx(6.09).margin(0.005));
  CHECK(gibibytes(3, true, false) == Approx(0.78).margin(0.005));
  CHECK(gibibytes(3, true, true) == Approx(0.12).margin(0.005));
}

TEST_CASE("activations of a long sequence are mostly the attention matrix", "[analytic]") {
  // s 8192, b 8, h 4096, a 32, L 32: s b h = 2^28.
  auto const shape = TransformerShape{8192, 8, 4096, 32};
  // 34 * 268,435,456 = 9.13 GB a layer, 292 GB in all.
  CHECK(layer_activations_without_scores(shape) == Bytes{9'126'805'504});
  CHECK(gigabytes(layer_activations_without_scores(shape) * 32) == Approx(292).epsilon(0.005));
  // 5 * 32 * 2^26 * 8 = 85.9 GB a layer, 2750 GB in all.
  CHECK(score_activations(shape) == Bytes{85'899'345'920});
  CHECK(gigabytes(score_activations(shape) * 32) == Approx(2750).epsilon(0.005));
}

TEST_CASE("full recomputation keeps the layers' inputs and costs a third more", "[analytic]") {
  auto const shape = TransformerShape{8192, 8, 4096, 32};
  // 2 * 2^28 * 32 = 17.2 GB.
  CHECK(layer_input_activations(shape) * 32 == Bytes{17'179'869'184});
  CHECK(full_recomputation_compute_ratio() == Approx(1 + 1.0 / 3));
}

TEST_CASE("training GPT-3 takes 3.15e23 operations, nine days on 1024 accelerators", "[analytic]") {
  // 6 * 1.75e11 * 3e11; at 4e14 FLOP/s 7.9e8 s; / 1024 = 7.7e5 s.
  auto const work = training_flops(1.75e11, 3e11);
  CHECK(work.count() == Approx(3.15e23));
  CHECK(job_time(work, 400_TFLOPS).count() == Approx(7.875e8));
  CHECK(job_time(work, 400_TFLOPS, 1024).count() == Approx(7.69e5).epsilon(0.001));
}

TEST_CASE("reducing the gradients of 7e9 parameters takes four percent of a step", "[analytic]") {
  // 2 * 14e9 B / 4e11 B/s = 70 ms. 6 * 7e9 * 16384 / 4e14 = 1720 ms.
  auto const communication = all_reduce_time(14_GB, 400_GBps);
  auto const compute = job_time(training_flops(7e9, 16384), 400_TFLOPS);
  CHECK(communication.count() == Approx(0.070));
  CHECK(compute.count() == Approx(1.720).epsilon(0.001));
  CHECK(gradient_communication_ratio(400_TFLOPS, 400_GBps, 16384) == Approx(0.0407).epsilon(0.001));
}

TEST_CASE("communication over compute does not depend on the size of the model", "[analytic][property]") {
  auto const expected = gradient_communication_ratio(FlopsPerSecond{3.1e14}, 180_GBps, 4096);
  for (auto const parameters : {124'439'808LL, 7'000'000'000LL, 1'000'000'000'000LL}) {
    auto const communication = all_reduce_time(Bytes{2 * parameters}, 180_GBps);
    auto const compute = job_time(training_flops(static_cast<double>(parameters), 4096), FlopsPerSecond{3.1e14});
    CHECK(communication.count() / compute.count() == Approx(expected));
  }
}
