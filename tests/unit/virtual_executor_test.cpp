#include "sim/engine/virtual_executor.hpp"

#include <algorithm>

#include "sim/program/builder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::program;
using engine::Machine;

namespace {

/// A program of one role in the making.
struct Job {
  explicit Job(std::int64_t ranks) : builder{Grid{{{"data", ranks}}}}, role{builder.role("rank")} {}

  NameId name(std::string_view text) { return builder.name(text); }
  OpId delay(StreamId stream, std::string_view text, Duration duration) {
    return role.add(stream, name(text), Delay{duration}, {});
  }
  BufferId buffer(std::int64_t elements, MemoryCategory category = MemoryCategory::kActivations) {
    return role.buffer({.name = name("buffer"), .elements = elements, .type = DataType::kInt8, .category = category});
  }
  timeline::Timeline run(hardware::Cluster cluster, engine::RunOptions options = {}) {
    return engine::run(std::move(builder).finish(), Machine{std::move(cluster)}, options);
  }

  ProgramBuilder builder;
  RoleBuilder& role;
};

timeline::Span const& span_named(timeline::Timeline const& timeline, std::string_view name) {
  auto const found = std::ranges::find_if(timeline.spans, [&](auto const& s) { return timeline.text(s.name) == name; });
  REQUIRE(found != timeline.spans.end());
  return *found;
}

}  // namespace

TEST_CASE("a stream runs its operations in order, and streams run side by side", "[engine]") {
  auto job = Job{1};
  auto const a = job.role.stream("a");
  auto const b = job.role.stream("b");
  job.delay(a, "a1", 3_us);
  job.delay(b, "b1", 5_us);
  job.delay(a, "a2", 4_us);
  auto const timeline = job.run(tests::crossbar_node(1, 1_GBps, 0_us));
  CHECK(span_named(timeline, "a1").end == 3_us);
  CHECK(span_named(timeline, "b1").start == 0_us);
  CHECK(span_named(timeline, "a2").start == 3_us);
  CHECK(timeline.step_time == 7_us);
}

TEST_CASE("an operation waits for operations of other streams", "[engine]") {
  auto job = Job{1};
  auto const a = job.role.stream("a");
  auto const b = job.role.stream("b");
  auto const slow = job.delay(a, "slow", 9_us);
  job.delay(b, "early", 1_us);
  job.role.wait(b, slow);
  job.delay(b, "late", 1_us);
  auto const timeline = job.run(tests::crossbar_node(1, 1_GBps, 0_us));
  CHECK(span_named(timeline, "early").end == 1_us);
  CHECK(span_named(timeline, "late").start == 9_us);
}

TEST_CASE("the host issues at its own pace, and kernels shorter than that wait for it", "[engine][host]") {
  // Issue every 5 us: at 5, 10, 15. Each kernel takes 1 us, so the last ends at 16 us.
  auto cluster = tests::crossbar_node(1, 1_GBps, 0_us);
  cluster.node().host.launch.value = 5_us;
  auto job = Job{1};
  auto const stream = job.role.stream("compute");
  for (auto const* name : {"one", "two", "three"}) job.delay(stream, name, 1_us);
  auto const timeline = job.run(cluster);
  CHECK(span_named(timeline, "two").issue == 10_us);
  CHECK(span_named(timeline, "two").start == 10_us);
  CHECK(timeline.step_time == 16_us);
}

TEST_CASE("the host runs ahead of long kernels until it synchronises", "[engine][host]") {
  // Issue at 5 and 10 us; the kernels run 5–25 and 25–45. The host waits for the second, works 2 us, and issues the
  // third at 45 + 2 + 5 = 52 us.
  auto cluster = tests::crossbar_node(1, 1_GBps, 0_us);
  cluster.node().host.launch.value = 5_us;
  auto job = Job{1};
  auto const stream = job.role.stream("compute");
  job.delay(stream, "one", 20_us);
  auto const second = job.delay(stream, "two", 20_us);
  job.role.host(job.name("item"), std::span{&second, 1}, 2_us);
  job.delay(stream, "three", 1_us);
  auto const timeline = job.run(cluster);
  CHECK(span_named(timeline, "two").issue == 10_us);
  CHECK(span_named(timeline, "item").start == 45_us);
  CHECK(span_named(timeline, "item").end == 47_us);
  CHECK(span_named(timeline, "three").start == 52_us);
}

TEST_CASE("a GEMM takes its FLOPs over the peak, or its bytes over the bandwidth", "[engine][cost]") {
  // 2 · 1000³ FLOPs at 1e15 FLOP/s: 2 us. Its 6 MB at 1 TB/s take 6 us and decide.
  auto cluster = tests::crossbar_node(1, 1_GBps, 0_us);
  auto const run = [&] {
    auto job = Job{1};
    auto const stream = job.role.stream("compute");
    job.role.add(stream, job.name("gemm"), Gemm{.m = 1000, .n = 1000, .k = 1000}, {});
    return job.run(cluster).step_time;
  };
  CHECK(run() == 2_us);
  cluster.node().gpu.memory_bandwidth.value = 1000_GBps;
  CHECK(run() == 6_us);
}

TEST_CASE("ranks that are alike are simulated once, however many there are", "[engine]") {
  auto const events = [](std::int64_t ranks) {
    auto job = Job{ranks};
    auto const stream = job.role.stream("communication");
    auto const all = job.builder.communicator("data", {"data"});
    auto const shard = std::int64_t{1000};
    auto const buffer = job.buffer(shard * ranks);
    auto const by_rank = job.builder.variation({.along = job.builder.along({"data"}), .stride = shard});
    job.role.add(stream, job.name("gather"),
                 Collective{.kind = CollectiveKind::kAllGather,
                            .type = DataType::kInt8,
                            .communicator = all,
                            .elements = shard * ranks},
                 {buffer, {0, by_rank}, shard}, job.role.whole(buffer));
    auto const timeline = job.run(tests::flat_cluster(ranks, 50_GBps, 1_us));
    CHECK(timeline.tracks.size() == 1);
    CHECK(timeline.tracks.front().multiplicity == ranks);
    return timeline.events;
  };
  CHECK(events(8) == events(16'384));
}

TEST_CASE("two collectives on one communicator run one after another, on two communicators side by side",
          "[engine][communication]") {
  // Flat ring of 2: 2 (p - 1) = 2 steps of 1 us, and each port carries 2 (p - 1)/p · 100 MB = 100 MB: 1 ms at 100 GB/s.
  // One after another: twice 1.002 ms. Side by side: 2 us of latency together, then 200 MB over each port: 2.002 ms.
  auto const run = [](bool one_communicator) {
    auto job = Job{2};
    auto const first = job.builder.communicator("first", {"data"});
    auto const second = one_communicator ? first : job.builder.communicator("second", {"data"});
    auto const a = job.role.stream("a");
    auto const b = job.role.stream("b");
    for (auto const& [stream, communicator] : {std::pair{a, first}, std::pair{b, second}}) {
      auto const buffer = job.role.whole(job.buffer(100'000'000));
      job.role.add(stream, job.name("reduce"),
                   Collective{.type = DataType::kInt8, .communicator = communicator, .elements = 100'000'000}, buffer,
                   buffer);
    }
    return job.run(tests::flat_cluster(2, 100_GBps, 1_us));
  };
  auto const serial = run(true);
  CHECK(serial.spans[0].end == 1002_us);
  CHECK(serial.spans[1].arrive == 0_us);
  CHECK(serial.spans[1].start == 1002_us);
  CHECK(serial.step_time == 2004_us);
  auto const parallel = run(false);
  CHECK(parallel.spans[1].start == 0_us);
  CHECK(parallel.step_time == 2002_us);
}

TEST_CASE("a memory-bound kernel and a collective share the memory's bandwidth", "[engine][contention]") {
  // Memory moves 100 GB/s. The all-reduce puts 100 MB on the port (100 GB/s) and half as much, 50 MB, on memory; the
  // kernel moves 100 MB. Fair rates on memory: the collective grows to x on the port and x/2 on memory, the kernel to x
  // on memory: 1.5 x = 100 GB/s, x = 66.7 GB/s. Both need 100 MB at 66.7 GB/s: 1.5 ms.
  auto cluster = tests::flat_cluster(2, 100_GBps, 0_us);
  cluster.node().gpu.memory_bandwidth.value = 100_GBps;
  cluster.library.memory_bytes_per_wire_byte.value = 0.5;
  auto job = Job{2};
  auto const all = job.builder.communicator("data", {"data"});
  auto const compute = job.role.stream("compute");
  auto const communication = job.role.stream("communication");
  auto const buffer = job.role.whole(job.buffer(100'000'000));
  job.role.add(communication, job.name("reduce"),
               Collective{.type = DataType::kInt8, .communicator = all, .elements = 100'000'000}, buffer, buffer);
  job.role.add(compute, job.name("kernel"), Elementwise{.elements = 100'000'000, .bytes_per_element = 1}, {});
  auto const timeline = job.run(cluster);
  CHECK(span_named(timeline, "kernel").end == 1500_us);
  CHECK(span_named(timeline, "reduce").end == 1500_us);
}

TEST_CASE("compute that starts under a collective has the SMs that are left", "[engine][contention]") {
  // 2 us alone (see above). The collective has one channel, which holds one of 5 SMs: 2 / 0.8 = 2.5 us.
  auto cluster = tests::flat_cluster(2, 1_GBps, 0_us);
  cluster.node().gpu.sm_count.value = 5;
  auto job = Job{2};
  auto const all = job.builder.communicator("data", {"data"});
  auto const compute = job.role.stream("compute");
  auto const communication = job.role.stream("communication");
  auto const buffer = job.role.whole(job.buffer(1'000'000));
  job.delay(compute, "first", 1_us);
  job.role.add(communication, job.name("reduce"),
               Collective{.type = DataType::kInt8, .communicator = all, .elements = 1'000'000}, buffer, buffer);
  job.role.add(compute, job.name("gemm"), Gemm{.m = 1000, .n = 1000, .k = 1000}, {});
  auto const timeline = job.run(cluster);
  CHECK(span_named(timeline, "gemm").start == 1_us);
  CHECK(span_named(timeline, "gemm").end == 3500_ns);
}

TEST_CASE("communication slows a kernel for as long as it runs, and no longer", "[engine][contention]") {
  // 2 us alone on 5 SMs. A collective of one channel runs from 500 ns to 1,500 ns: 1,000 bytes at 1 GB/s.
  // - In proportion: a quarter is done before it, 1 us at 4/5 of the speed does 2/5, the other 7/20 take 700 ns.
  // - In waves: 5 tiles need one wave of 5 SMs and two of 4. So 1 us does a quarter, and the last half takes 1 us.
  auto cluster = tests::flat_cluster(2, 1_GBps, 0_us);
  cluster.node().gpu.sm_count.value = 5;
  auto const end = [&] {
    auto job = Job{2};
    auto const all = job.builder.communicator("data", {"data"});
    auto const communication = job.role.stream("communication");
    auto const buffer = job.role.whole(job.buffer(1'000));
    job.role.add(job.role.stream("compute"), job.name("gemm"), Gemm{.m = 1000, .n = 1000, .k = 1000}, {});
    job.delay(communication, "first", 500_ns);
    job.role.add(communication, job.name("reduce"),
                 Collective{.type = DataType::kInt8, .communicator = all, .elements = 1'000}, buffer, buffer);
    auto const timeline = job.run(cluster);
    CHECK(span_named(timeline, "reduce").end == 1500_ns);
    return span_named(timeline, "gemm").end;
  };
  CHECK(end() == 2200_ns);
  cluster.node().gpu.efficiency.gemm_tile = hardware::GemmTile{{200}, {1000}};
  CHECK(end() == 2500_ns);
}

TEST_CASE("traffic follows the speeds that flows have on links which they share", "[engine][communication]") {
  // Two nodes, 10 GB/s each. Of all_gathers of 20 KB and 60 KB each rank sends 10 KB and 30 KB, both at 5 GB/s until
  // the short one ends after 2 us; then 20 KB are left of the long one, at 10 GB/s: 2 us more. A track of two ranks.
  auto job = Job{2};
  for (auto const& [name, elements] : {std::pair{"short", 20'000}, std::pair{"long", 60'000}}) {
    auto const all = job.builder.communicator(name, {"data"});
    auto const buffer = job.buffer(elements);
    auto const sent = Region{.buffer = buffer, .elements = elements / 2};
    job.role.add(
        job.role.stream(name), job.name(name),
        Collective{
            .kind = CollectiveKind::kAllGather, .type = DataType::kInt8, .communicator = all, .elements = elements},
        sent, job.role.whole(buffer));
  }
  auto const timeline = job.run(tests::flat_cluster(2, 10_GBps, 0_us));
  using timeline::Traffic;
  auto const track = timeline::TrackId{0};
  CHECK(timeline.tracks.front().multiplicity == 2);
  CHECK(timeline.traffic == std::vector<Traffic>{{track, 0_us, 2_us, {0_B, 20_KB}},
                                                 {track, 0_us, 2_us, {0_B, 20_KB}},
                                                 {track, 2_us, 4_us, {0_B, 40_KB}}});
  CHECK(timeline.wire == timeline::WireTotals{0_B, 80_KB});
}

TEST_CASE("the same program on the same machine gives the same timeline, bit for bit", "[engine]") {
  auto const run = [] {
    auto job = Job{4};
    auto const all = job.builder.communicator("data", {"data"});
    auto const compute = job.role.stream("compute");
    auto const communication = job.role.stream("communication");
    auto const buffer = job.role.whole(job.buffer(12'345'678));
    for (int i = 0; i < 20; ++i) {
      auto const op = job.role.add(compute, job.name("gemm"), Gemm{.m = 1000 + i, .n = 777, .k = 512}, {});
      job.role.wait(communication, op);
      job.role.add(communication, job.name("reduce"),
                   Collective{.type = DataType::kInt8, .communicator = all, .elements = 12'345'678}, buffer, buffer);
    }
    return job.run(tests::h100_like(1));
  };
  CHECK(run() == run());
}

TEST_CASE("free communication takes no time, waits for nobody and holds no SMs, and its issue still costs the host",
          "[engine][communication]") {
  // The host issues a reduction at 1 us and a GEMM that waits for it at 2 us: by then the reduction is long over. With
  // all SMs 2 · 1000³ FLOPs at 1e15 FLOP/s take 2 us, until 4 us.
  auto cluster = tests::crossbar_node(2, 1_GBps, 10_us);
  cluster.node().host.launch.value = 1_us;
  cluster.node().host.communication_launch.value = 1_us;
  for (auto const fidelity : {engine::Fidelity::kFolded, engine::Fidelity::kExact}) {
    auto job = Job{2};
    auto const all = job.builder.communicator("all", {"data"});
    auto const communication = job.role.stream("communication");
    auto const compute = job.role.stream("compute");
    auto const region = job.role.whole(job.buffer(1'000'000));
    auto const reduction =
        job.role.add(communication, job.name("reduce"),
                     Collective{.type = DataType::kInt8, .communicator = all, .elements = 1'000'000}, region, region);
    job.role.wait(compute, reduction);
    job.role.add(compute, job.name("gemm"), Gemm{.m = 1000, .n = 1000, .k = 1000}, {});
    auto const timeline = job.run(cluster, {.fidelity = fidelity, .communication_is_free = true});
    CHECK(span_named(timeline, "reduce").end == 1_us);
    CHECK(span_named(timeline, "gemm").start == 2_us);
    CHECK(timeline.step_time == 4_us);
    CHECK(timeline.wire.intra == Bytes{});
    CHECK(timeline.links.empty());
  }
}
