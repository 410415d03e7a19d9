#include <algorithm>

#include "sim/collectives/folded.hpp"
#include "sim/engine/virtual_executor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using engine::Machine;

namespace {

constexpr std::int64_t kRanks = 8;

/// Eight ranks on a flat network. Communication takes neither SMs nor memory bandwidth here, so that sums are exact.
hardware::Cluster network(BytesPerSecond rate, Duration alpha = 1_us) {
  auto cluster = tests::flat_cluster(kRanks, rate, alpha);
  cluster.node().gpu.memory_bandwidth.value = 1000_GBps;
  cluster.library.memory_bytes_per_wire_byte.value = 0;
  return cluster;
}

Plan plan_of(StrategyName name, std::int64_t ranks) {
  return {.strategy = tests::with_buckets(name, 16_KiB, 4_KiB),
          .parallel = {.data = ranks},
          .batch = {.micro_batch = 4, .global_batch = 4 * ranks, .sequence_length = 32}};
}

timeline::Timeline simulate(StrategyName name, std::int64_t ranks, BytesPerSecond rate, Duration alpha = 1_us) {
  return engine::run(tests::compiled(tests::tiny_llama(), plan_of(name, ranks)), Machine{network(rate, alpha)});
}

Duration total_communication(timeline::Timeline const& timeline) {
  auto total = Duration{};
  for (auto const& span : timeline.spans)
    if (program::is_communication(span.kind)) total += span.end - span.start;
  return total;
}

}  // namespace

TEST_CASE("with naive data parallelism a step is compute plus all communication", "[strategies][engine]") {
  auto const compute = simulate(StrategyName::kNaive, 1, 1_GBps).step_time;
  auto const step = simulate(StrategyName::kNaive, kRanks, 1_GBps);
  CHECK(step.step_time == compute + total_communication(step));
}

TEST_CASE("with buckets a step is compute plus the last bucket, if the network keeps up", "[strategies][engine]") {
  // Gradients are views of the buckets; otherwise the copies back of earlier buckets run under the last one.
  auto const views = [](std::int64_t ranks, BytesPerSecond rate, Duration alpha) {
    auto plan = plan_of(StrategyName::kDdp, ranks);
    tests::ddp_of(plan).gradient_as_bucket_view = true;
    return engine::run(tests::compiled(tests::tiny_llama(), plan), Machine{network(rate, alpha)});
  };
  auto const compute = views(1, 100_GBps, 1_us).step_time;
  auto const step = views(kRanks, 1000_GBps, 0_us);
  auto last = timeline::Span{};
  for (auto const& span : step.spans)
    if (program::is_communication(span.kind)) last = span;
  CHECK(step.step_time.count() == (compute + (last.end - last.start)).count());
  CHECK(last.end - last.start < total_communication(step) / 4);
}

TEST_CASE("the ring's time is 2 (p - 1) alpha + 2 (p - 1)/p N/B, and the engine takes just that",
          "[strategies][engine]") {
  // Naive data parallelism reduces each tensor with a ring of 8 or, where that is faster, a tree; the engine's spans
  // are what the collectives' fold says to the picosecond.
  auto const cluster = network(1_GBps);
  auto const topology = topology::Topology{cluster};
  auto const grid = program::Grid{{{"data", kRanks}}};
  auto const layout = collectives::layout_of(grid, grid.along({"data"}), RankId{0}, 1);
  auto const step = simulate(StrategyName::kNaive, kRanks, 1_GBps);
  for (auto const& span : step.spans) {
    if (!program::is_communication(span.kind)) continue;
    auto const question =
        collectives::Question{CollectiveKind::kAllReduce, span.bytes, program::Reduction::kSum, DataType::kBf16, {}};
    auto const folded = fold(question, layout, cluster, topology);
    CHECK(span.end - span.start == time_alone(folded, topology));
    if (folded.algorithm != collectives::Algorithm::kRing) continue;
    CHECK(span.end - span.start == 14_us + transfer_time(span.bytes * 14 / 8, 1_GBps));
  }
}

TEST_CASE("every strategy moves its volume over the wire", "[strategies][engine]") {
  // A ring moves (p - 1)/p of N for each reduce-scatter or all-gather a rank, twice that for an all-reduce; p ranks.
  auto const n = parameter_count(tests::tiny_llama()) * 2;  // bytes; every tensor divides by 8, so nothing is padded
  for (auto const name : tests::kAllStrategies) {
    if (name == StrategyName::kMegatron) continue;  // pads, and reduces fp32: see megatron_test.cpp
    auto const passes = name == StrategyName::kZero3 ? 3 : 2;
    auto const step = simulate(name, kRanks, 100_GBps);
    INFO(name_of(name));
    CHECK(step.wire.inter.count() == passes * n * (kRanks - 1));
    CHECK(step.wire.intra == 0_B);
  }
}

TEST_CASE("all that a step allocates is given back, and the states of training stay", "[strategies][engine][memory]") {
  for (auto const name : tests::kAllStrategies) {
    auto const program = tests::compiled(tests::tiny_llama(), plan_of(name, kRanks));
    auto persistent = Bytes{};
    for (auto const& buffer : program.roles.front().buffers)
      if (buffer.is_persistent) persistent += size_of(buffer.type) * buffer.elements.base;
    auto left = Bytes{};
    for (auto const& sample : simulate(name, kRanks, 100_GBps).memory)  // the allocator keeps what it has cached
      if (sample.category != program::MemoryCategory::kFragmentation) left += sample.change;
    INFO(name_of(name));
    CHECK(left.count() == persistent.count());
  }
}

TEST_CASE("ZeRO-3 gathers one unit ahead, and never holds more than three", "[strategies][engine][memory]") {
  auto const step = simulate(StrategyName::kZero3, kRanks, 100_GBps);
  // The gather for layer 1 is issued while layer 0 is being written, and runs under its kernels.
  auto gathers = std::vector<timeline::Span>{};
  auto layer_0_end = Time{};
  for (auto const& span : step.spans) {
    if (span.kind == program::WorkKind::kAllGather) gathers.push_back(span);
    if (step.text(span.scope) == "layer.0.forward" && program::is_compute(span.kind)) layer_0_end = span.end;
  }
  // In order: embedding, layer 0, layer 1, head; then head, layer 1, layer 0, embedding.
  REQUIRE(gathers.size() == 8);
  CHECK(step.text(gathers[1].scope) == "embedding.forward");
  CHECK(step.text(gathers[2].scope) == "layer.0.forward");
  CHECK(gathers[2].start < layer_0_end);

  // tiny_llama: embedding and head have 101 · 64 (+ 64) parameters, a layer 64·64·2 + 32·64·2 + 96·64·3 + 2·64 =
  // 30,848.
  auto const largest = Bytes{2 * 30'848};
  auto held = Bytes{};
  auto most = Bytes{};
  for (auto const& sample : step.memory) {
    if (sample.category != program::MemoryCategory::kGatheredParameters) continue;
    held += sample.change;
    most = std::max(most, held);
  }
  CHECK(most > largest);
  CHECK(most <= largest * 3);
}

TEST_CASE("ZeRO-2 holds at most two buckets of gradients, however many micro-batches there are",
          "[strategies][engine][memory]") {
  // Buckets close at 16 KiB of gradients; tiny_llama's largest tensor (101 · 64 · 2 bytes) may end one.
  auto const largest = 16_KiB + Bytes{101 * 64 * 2};
  for (auto const micro_batches : {1, 5}) {
    auto plan = plan_of(StrategyName::kZero2, kRanks);
    plan.batch.global_batch *= micro_batches;
    auto cluster = network(1_GBps);
    cluster.node().host.launch.value =
        1_us;  // a host that takes no time would allocate at the very moment of a release
    auto const step = engine::run(tests::compiled(tests::tiny_llama(), plan), Machine{cluster});
    auto held = Bytes{};
    auto most = Bytes{};
    for (auto const& sample : step.memory) {
      if (sample.category != program::MemoryCategory::kBuckets) continue;
      held += sample.change;
      most = std::max(most, held);
    }
    CHECK(most.count() > (16_KiB).count());
    CHECK(most.count() <= (largest * 2).count());
  }
}
