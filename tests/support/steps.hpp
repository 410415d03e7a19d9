#pragma once

#include "tests/support/timelines.hpp"

namespace twinstep::tests {

/// A step of 100 ms on two ranks that do the same, with something of everything:
///
///      0 ..  6  the host issues "up" at 6            waits for the host   6
///      6 .. 10  "up" is on its way                    idle                 4
///     10 .. 40  gemm "up"                             gemm                30
///     30 .. 50  all_gather "next", hidden until 40    exposed all_gather  10
///     50 .. 60  attention "core"                      attention           10
///     55 .. 75  reduce_scatter "sum": hidden until 60, the other rank is ready at 65
///                                   waits for ranks 5, exposed reduce_scatter 10
///     70 .. 80  copy "offload", alone from 75         exposed copy         5
///     80 .. 95  elementwise "update"                  elementwise         15
///     95 ..100  the host reads the loss               waits for the host   5
///
/// Communication: 20 + 20 = 40 ms, exposed 10 + 15 = 25 ms. Memory: 30 GiB at first, 36 at 10 ms, 40 from 50 ms to
/// 60 ms (its peak), then 37; the allocator holds 2 GiB more all the time. Each rank does 25 TFLOP, so 250 TFLOP/s of a
/// peak of 1000, and 30 TFLOP with recomputation. The nvlink is busy for 3 GB / 300 GB/s = 10 ms, the nic for 2 GB / 50
/// GB/s = 40 ms.
inline timeline::Timeline full_step() {
  using namespace literals;
  using program::MemoryCategory;
  using program::WorkKind;
  auto builder = TimelineBuilder{};
  builder.track("every", 0, 2);
  builder.scope("layer.0", program::Pass::kForward).add(WorkKind::kGemm, "up", 6_ms, 10_ms, 10_ms, 40_ms);
  builder.communicate(WorkKind::kAllGather, "next", 30_ms, 30_ms, 50_ms);
  builder.compute(WorkKind::kAttention, "core", {50_ms, 60_ms});
  builder.scope("layer.0", program::Pass::kBackward).communicate(WorkKind::kReduceScatter, "sum", 55_ms, 65_ms, 75_ms);
  builder.copy("offload", {70_ms, 80_ms});
  builder.scope("").compute(WorkKind::kElementwise, "update", {80_ms, 95_ms});
  builder.host("read loss", {95_ms, 100_ms});
  builder.memory(0_ms, MemoryCategory::kParameters, 10_GiB)
      .memory(0_ms, MemoryCategory::kOptimizer, 20_GiB)
      .memory(0_ms, MemoryCategory::kFragmentation, 2_GiB)
      .memory(10_ms, MemoryCategory::kActivations, 6_GiB)
      .memory(50_ms, MemoryCategory::kGatheredParameters, 4_GiB)
      .memory(60_ms, MemoryCategory::kActivations, -6_GiB)
      .memory(60_ms, MemoryCategory::kBuckets, 3_GiB);
  auto step = builder.timeline();
  step.tracks[0].allocator = {.segments = 7, .retries = 0};
  step.manifest.scenario = "two-layer toy, sharded, 1 node of 2 GPUs";
  step.manifest.calibration = "uncalibrated: datasheet and default constants";
  step.manifest.world_size = 2;
  step.manifest.tokens = 4000;
  step.manifest.model_flops = Flops{50e12};
  step.manifest.hardware_flops = Flops{60e12};
  step.manifest.peak = 1000_TFLOPS;
  step.manifest.memory_capacity = 64_GiB;
  step.links = {{"nvlink", false, 3_GB, 4, 300_GBps}, {"nic", true, 2_GB, 2, 50_GBps}};
  step.wire = {12_GB, 8_GB};
  step.events = 42;
  return step;
}

}  // namespace twinstep::tests
