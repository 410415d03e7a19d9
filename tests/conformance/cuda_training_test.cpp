#include <memory>

#include <fmt/core.h>

#include "tests/conformance/training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_cuda/fake_device.hpp"
#include "tests/support/plans.hpp"
#include "validate/cuda/cuda_executor.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

struct FakeJob {
  FakeJob(int world, program::Initialiser const& initialise)
      : device{world},
        connection{cuda::connect(device, {.world = world, .local_ranks = world}, {})},
        environment{device, connection.ranks, initialise},
        executor{device, connection} {}
  FakeDevice device;
  cuda::Connection connection;
  cuda::Environment environment;
  cuda::Executor executor;
};

TrainingJob on_fake_devices(std::int64_t ranks, program::Initialiser const& initialise) {
  auto const job = std::make_shared<FakeJob>(static_cast<int>(ranks), initialise);
  return {.step = [=](program::StepProgram const& step) { return job->executor.run(step, job->environment); },
          .read = [=](RankId rank, std::string_view name,
                      std::string_view scope) { return job->environment.read(rank, name, scope); }};
}

}  // namespace

// Attention in kernels of its own, as cuBLAS has no fused one. Rounding of 1e-9: transformer_parity_test.cpp.
TEST_CASE("every strategy trains a transformer like a single rank on devices that are not there",
          "[conformance][transformer][cuda]") {
  for (auto const& model : {small_llama(), small_gpt()}) {
    auto alone = Plan{.strategy = StrategyName::kNaive,
                      .batch = {.micro_batch = 4, .global_batch = 4, .sequence_length = 8},
                      .kernels = {.precision = DataType::kFp64, .flash_attention = false}};
    auto const reference = train(model, alone, on_fake_devices);
    for (auto const name : kAllStrategies)
      for (auto const recompute : {Recompute::kNone, Recompute::kFull}) {
        INFO(fmt::format("{}, {}, recompute {}", model.name, name_of(name), name_of(recompute)));
        auto plan = alone;
        plan.strategy = with_buckets(name, 4_KiB, 1_KiB);
        plan.parallel.data = 2;
        plan.batch.micro_batch = 1;
        plan.kernels.recompute = recompute;
        CHECK(largest_difference(train(model, plan, on_fake_devices), reference) < 1e-9);
      }
  }
}

// The bound of training_parity_test.cpp, for the same reason: 1e-12 is rounding in fp64 and nothing else. A stream that
// did not wait, or memory that was reused too early, would show.
TEST_CASE("every strategy trains like a single rank on devices that are not there", "[conformance][strategies][cuda]") {
  for (auto const recompute : {Recompute::kNone, Recompute::kFull})
    for (std::int64_t const ranks : {1, 2, 4}) {
      auto const global_batch = 4 * ranks;
      auto const reference = train_alone(global_batch, DataType::kFp64, on_fake_devices);
      for (auto const name : kAllStrategies) {
        INFO(fmt::format("{}, {} ranks, recompute {}", name_of(name), ranks, name_of(recompute)));
        auto const trained = train({.strategy = with_buckets(name, 1_KiB, 256_B),
                                    .parallel = {.data = ranks},
                                    .batch = {.micro_batch = 2, .global_batch = global_batch},
                                    .kernels = {.precision = DataType::kFp64, .recompute = recompute}},
                                   on_fake_devices);
        CHECK(largest_difference(trained, reference) < 1e-12);
      }
    }
}
