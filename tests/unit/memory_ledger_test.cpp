#include "sim/engine/memory_ledger.hpp"

#include <algorithm>

#include "sim/engine/virtual_executor.hpp"
#include "sim/program/builder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::program;

namespace {

/// A step of one role in the making, whose operations do nothing but touch buffers for 100 us.
struct TouchingStep {
  explicit TouchingStep(std::int64_t ranks = 1) : builder{Grid{{{"data", ranks}}}}, role{builder.role("rank")} {}

  Region transient(Bytes size) { return role.whole(role.buffer(of(size, MemoryCategory::kActivations))); }
  void persistent(Bytes size, MemoryCategory category, MemorySpace space = MemorySpace::kDevice) {
    auto buffer = of(size, category);
    buffer.is_persistent = true;
    buffer.space = space;
    role.buffer(buffer);
  }
  OpId touch(StreamId stream, std::vector<Region> const& buffers) {
    auto accesses = std::vector<Access>{};
    for (auto const& buffer : buffers) accesses.push_back(writes(buffer));
    return role.add(stream, builder.name("touch"), Delay{100_us}, accesses);
  }
  timeline::Timeline run(hardware::Cluster const& cluster, bool replays_allocator = true) {
    return engine::run(std::move(builder).finish(), engine::Machine{cluster}, {.replays_allocator = replays_allocator});
  }

  ProgramBuilder builder;
  RoleBuilder& role;

 private:
  Buffer of(Bytes size, MemoryCategory category) {
    return {.name = builder.name("buffer"), .elements = size.count(), .type = DataType::kInt8, .category = category};
  }
};

/// One GPU, whose host issues an operation every 5 us.
hardware::Cluster machine(Bytes capacity = 1_GiB, std::int64_t gpus = 1) {
  auto cluster = tests::crossbar_node(gpus, 1_GBps, 0_us);
  cluster.node().host.launch.value = 5_us;
  cluster.node().gpu.memory_capacity.value = capacity;
  cluster.node().gpu.context_memory.value = {};
  return cluster;
}

/// What the device holds of a category after everything that happens up to `time`.
Bytes held(timeline::Timeline const& timeline, MemoryCategory category, Time time) {
  auto sum = Bytes{};
  for (auto const& sample : timeline.memory)
    if (sample.category == category && sample.space == MemorySpace::kDevice && sample.time <= time)
      sum += sample.change;
  return sum;
}

/// Everything that the device ever holds at once.
Bytes most_held(timeline::Timeline const& timeline) {
  auto sum = Bytes{};
  auto most = Bytes{};
  for (auto const& sample : timeline.memory) most = std::max(most, sum += sample.change);
  return most;
}

}  // namespace

TEST_CASE("memory is taken when the host issues the first user and given back when it has issued the last",
          "[engine][memory]") {
  // The host issues at 5, 10 and 15 us, long before the kernels run.
  auto job = TouchingStep{};
  auto const stream = job.role.stream("compute");
  auto const buffer = job.transient(100_B);
  job.touch(stream, {buffer});
  job.touch(stream, {buffer});
  job.touch(stream, {});
  auto const memory = job.run(machine(), false).memory;
  REQUIRE(memory.size() == 2);
  CHECK(memory[0].time == 5_us);
  CHECK(memory[0].change == 100_B);
  CHECK(memory[1].time == 10_us);
  CHECK(memory[1].change == -(100_B));
}

TEST_CASE("memory that several streams used is given back when its last user has ended", "[engine][memory]") {
  // PyTorch's allocator lets a block that another stream used go when that stream's event has come. The first kernel
  // begins at 5 us, the second when that has ended.
  auto job = TouchingStep{};
  auto const a = job.role.stream("a");
  auto const b = job.role.stream("b");
  auto const buffer = job.transient(100_B);
  auto const first = job.touch(a, {buffer});
  job.role.wait(b, first);
  job.touch(b, {buffer});
  auto const memory = job.run(machine(), false).memory;
  REQUIRE(memory.size() == 2);
  CHECK(memory[1].time == 205_us);
}

TEST_CASE("context and the collective library's buffers are lines of their own", "[engine][memory]") {
  auto cluster = machine(1_GiB, 2);
  cluster.node().gpu.context_memory.value = 300_MiB;
  cluster.library.buffers.value = 20_MiB;
  auto job = TouchingStep{2};
  job.builder.communicator("data", {"data"});
  job.persistent(7_MiB, MemoryCategory::kParameters);
  job.touch(job.role.stream("compute"), {});
  auto const timeline = job.run(cluster);
  CHECK(held(timeline, MemoryCategory::kContext, 0_us) == 300_MiB);
  CHECK(held(timeline, MemoryCategory::kCollectiveLibrary, 0_us) == 20_MiB);
  CHECK(held(timeline, MemoryCategory::kParameters, 0_us) == 7_MiB);
}

TEST_CASE("what the allocator holds beyond what is allocated is fragmentation", "[engine][memory][allocator]") {
  // 11 MiB live in a segment of 12, which is there from the step before.
  auto job = TouchingStep{};
  auto const stream = job.role.stream("compute");
  job.touch(stream, {job.transient(11_MiB)});
  auto const timeline = job.run(machine());
  CHECK(held(timeline, MemoryCategory::kFragmentation, 0_us) == 12_MiB);
  CHECK(held(timeline, MemoryCategory::kFragmentation, 5_us) == 12_MiB);  // given back at 5 us, too
  CHECK(most_held(timeline) == 12_MiB);
  auto const taken =
      std::ranges::find(timeline.memory, MemoryCategory::kActivations, &timeline::MemorySample::category);
  REQUIRE(taken != timeline.memory.begin());
  CHECK((taken - 1)->change == -(11_MiB));  // it leaves the cache first: never held twice
  CHECK(taken->change == 11_MiB);
  CHECK(timeline.tracks[0].allocator == timeline::AllocatorUse{.segments = 1, .retries = 0});
}

TEST_CASE("a step is replayed until it reserves as much as the one before", "[engine][memory][allocator]") {
  // First step: 9 and 9 MiB in a segment of 20, 12 in its own. Second: the first 9 find the 12 the smallest that holds
  // them, the next 9 are in the 20, and the 12 need a new segment. Third: 12, 12 and 20 hold them all.
  auto job = TouchingStep{};
  auto const stream = job.role.stream("compute");
  auto const first = job.transient(9_MiB);
  auto const second = job.transient(9_MiB);
  auto const third = job.transient(12_MiB);
  job.touch(stream, {first});
  job.touch(stream, {second});
  job.touch(stream, {third});
  job.touch(stream, {first, second, third});
  auto const timeline = job.run(machine());
  CHECK(held(timeline, MemoryCategory::kFragmentation, 0_us) == 44_MiB);
  CHECK(most_held(timeline) == 44_MiB);
}

TEST_CASE("parameters are allocated before gradients, and these before the optimizer", "[engine][memory][allocator]") {
  // 9 leave 11 of a segment of 20, which the gradients fill; the optimizer needs another 12. In the order of the
  // program it would be 12 + 12 + 20.
  auto job = TouchingStep{};
  job.persistent(12_MiB, MemoryCategory::kOptimizer);
  job.persistent(11_MiB, MemoryCategory::kGradients);
  job.persistent(9_MiB, MemoryCategory::kParameters);
  job.touch(job.role.stream("compute"), {});
  auto const timeline = job.run(machine());
  CHECK(most_held(timeline) == 32_MiB);
  CHECK(held(timeline, MemoryCategory::kFragmentation, 0_us) == 0_B);
}

TEST_CASE("a buffer comes from the pool of the stream that first touches it", "[engine][memory][allocator]") {
  // One after the other: a stream of their own would share one segment.
  auto job = TouchingStep{};
  auto const a = job.role.stream("a");
  auto const b = job.role.stream("b");
  job.touch(a, {job.transient(20_MiB)});
  job.touch(b, {job.transient(20_MiB)});
  auto const timeline = job.run(machine());
  CHECK(most_held(timeline) == 40_MiB);
  CHECK(timeline.tracks[0].allocator->segments == 2);
}

TEST_CASE("when the device is full, the host waits for what other streams still use", "[engine][memory][allocator]") {
  // 30 MiB are in use on stream b until 205 us; the host asks for another 30 at 15 us and has 50. A retry waits for
  // stream b and gives the segment back; both are never held.
  auto job = TouchingStep{};
  auto const a = job.role.stream("a");
  auto const b = job.role.stream("b");
  auto const crossing = job.transient(30_MiB);
  auto const first = job.touch(a, {crossing});
  job.role.wait(b, first);
  job.touch(b, {crossing});
  job.touch(a, {job.transient(30_MiB)});
  auto const timeline = job.run(machine(50_MiB));
  CHECK(most_held(timeline) <= 50_MiB);
  CHECK(held(timeline, MemoryCategory::kActivations, 300_us) == 0_B);
  REQUIRE(timeline.tracks[0].allocator);
  CHECK(timeline.tracks[0].allocator->retries == 1);
}

TEST_CASE("what does not fit after a retry stands in the ledger above the capacity", "[engine][memory][allocator]") {
  auto job = TouchingStep{};
  job.persistent(40_MiB, MemoryCategory::kParameters);
  job.touch(job.role.stream("compute"), {job.transient(30_MiB)});
  CHECK(most_held(job.run(machine(50_MiB))) == 70_MiB);
}

TEST_CASE("context and library buffers leave the allocator less", "[engine][memory][allocator]") {
  auto cluster = machine(100_MiB);
  cluster.node().gpu.context_memory.value = 50_MiB;
  auto job = TouchingStep{};
  auto const stream = job.role.stream("compute");
  job.touch(stream, {job.transient(30_MiB)});
  job.touch(stream, {job.transient(40_MiB)});
  // 30 + 40 are above 50: the first step gives the 30 back. From then on 30 go into the 40.
  auto const timeline = job.run(cluster);
  CHECK(most_held(timeline) == 90_MiB);
  CHECK(timeline.tracks[0].allocator == timeline::AllocatorUse{.segments = 1, .retries = 0});
}

TEST_CASE("host memory has no caching allocator", "[engine][memory][allocator]") {
  auto job = TouchingStep{};
  job.persistent(11_MiB, MemoryCategory::kOptimizer, MemorySpace::kHost);
  job.touch(job.role.stream("compute"), {});
  auto const timeline = job.run(machine());
  REQUIRE(timeline.memory.size() == 1);
  CHECK(timeline.memory[0].space == MemorySpace::kHost);
}

TEST_CASE("without a replay there is no fragmentation, and no word of the allocator", "[engine][memory][allocator]") {
  auto job = TouchingStep{};
  job.touch(job.role.stream("compute"), {job.transient(11_MiB)});
  auto const timeline = job.run(machine(), false);
  CHECK(most_held(timeline) == 11_MiB);
  CHECK(!timeline.tracks[0].allocator);
}
