#include <vector>

#include "sim/engine/virtual_executor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using strategies::StrategyName;

namespace {

/// Two nodes on which kernels and communication share nothing but SMs, for memory has no end. A collective holds 16.
hardware::Cluster machine(std::int64_t sms, bool has_tiles) {
  auto cluster = tests::h100_like(2);
  auto& gpu = cluster.node().gpu;
  gpu.memory_bandwidth.value = tests::kEndless;
  gpu.sm_count.value = sms;
  if (has_tiles) gpu.efficiency.gemm_tile = hardware::GemmTile{{256}, {128}};
  cluster.stack.held_sms.value = 16;
  return cluster;
}

/// Three layers of LLaMA-2-7B in two micro-batches on 16 ranks.
program::StepProgram step_of(StrategyName strategy) {
  auto model = tests::llama_2_7b();
  model.layers = 3;
  return tests::compiled(strategies::ModelSpec{model},
                         {.strategy = strategy,
                          .parallel = {.data = 16},
                          .batch = {.micro_batch = 1, .global_batch = 32, .sequence_length = 2048}});
}

}  // namespace

TEST_CASE("where kernels and communication share SMs alone, a faster NIC never makes a step slower",
          "[engine][contention][property]") {
  for (auto const strategy : {StrategyName::kDdp, StrategyName::kZero2, StrategyName::kFsdp1, StrategyName::kFsdp2,
                              StrategyName::kDeepSpeed3, StrategyName::kMegatron}) {
    auto const step = step_of(strategy);
    // Each operation rounds up to a picosecond.
    auto const rounding = Duration{static_cast<std::int64_t>(step.roles.front().operations.size())};
    for (auto cluster : {machine(20, false), machine(132, true)}) {
      auto last = kNever - rounding;
      for (auto gigabytes = 10.0; gigabytes < 320; gigabytes *= 1.04) {
        cluster.node().nic.value = cluster.fabric.port.value = BytesPerSecond{gigabytes * 1e9};
        auto const time = engine::run(step, engine::Machine{cluster}).step_time;
        INFO(name_of(strategy) << ", " << cluster.node().gpu.sm_count.value << " SMs, " << gigabytes << " GB/s");
        CHECK(time <= last + rounding);
        last = time;
      }
    }
  }
}
