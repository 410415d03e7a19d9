#include <algorithm>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/folded.hpp"
#include "sim/collectives/pipeline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"
#include "tests/support/collective_kinds.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
using tests::kCollectiveKinds;
using topology::Topology;

namespace {

constexpr auto kAlgorithms = {Algorithm::kRing, Algorithm::kTree, Algorithm::kBinomial, Algorithm::kPairwise};

Layout all_of(hardware::Cluster const& cluster) {
  return {cluster.gpus(), {{cluster.nodes(), cluster.node().gpus}}, 0, 1, 0, 1, 1};
}

Question question(CollectiveKind kind, Bytes size, std::optional<Algorithm> forced = {}) {
  return {kind, size, program::Reduction::kSum, DataType::kBf16, {forced, {}}};
}

Duration time_of(hardware::Cluster const& cluster, CollectiveKind kind, Bytes size,
                 std::optional<Algorithm> forced = {}) {
  auto const topology = Topology{cluster};
  return time_alone(fold(question(kind, size, forced), all_of(cluster), cluster, topology), topology);
}

/// Message by message: every step takes its latency, then as long as its busiest port, in or out. Switches are as fast
/// as what they are asked for.
Duration time_by_steps(Schedule const& schedule, Bytes size, BytesPerSecond port, Timing const& timing) {
  auto total = timing.total();
  for (auto step = std::int64_t{0}; step < schedule.steps; ++step) {
    auto out = std::vector<std::int64_t>(static_cast<std::size_t>(schedule.ranks + schedule.agents));
    auto in = out;
    for (auto from = std::int64_t{0}; from < schedule.ranks + schedule.agents; ++from)
      for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane)
        if (auto const message = schedule.message(from, step, lane)) {
          auto const first = chunk_begin(size.count(), schedule.chunks, message->first_chunk);
          auto const last = chunk_begin(size.count(), schedule.chunks, message->first_chunk + message->chunk_count);
          out[static_cast<std::size_t>(from)] += last - first;
          in[static_cast<std::size_t>(message->to)] += last - first;
        }
    out.resize(static_cast<std::size_t>(schedule.ranks));
    in.resize(out.size());
    total += transfer_time(Bytes{std::max(*std::ranges::max_element(out), *std::ranges::max_element(in))}, port);
  }
  return total;
}

/// A pipeline whose pieces NCCL cuts finer than the schedule's chunks is folded as already full.
bool is_pipelined(CollectiveKind kind, Algorithm algorithm) {
  auto const is_rooted = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
  return (algorithm == Algorithm::kRing && is_rooted) ||
         (algorithm == Algorithm::kTree && kind == CollectiveKind::kAllReduce);
}

}  // namespace

TEST_CASE("a fold takes as long as its messages one by one, within 1 ps a step", "[folded][property]") {
  for (auto const kind : kCollectiveKinds)
    for (auto const algorithm : kAlgorithms) {
      if (!is_available(kind, algorithm) || is_pipelined(kind, algorithm)) continue;
      for (auto const ranks : {2, 3, 5, 8, 9, 13, 16, 24})
        for (auto const bytes_each : {1, 1000, 123'457}) {
          auto const size = Bytes{std::int64_t{bytes_each} * ranks};
          auto const schedule = schedule_of(kind, algorithm, ranks);
          auto const expected = time_by_steps(schedule, size, 7_GBps, {{}, {{schedule.steps, 3_us}}});
          auto const across = time_of(tests::flat_cluster(ranks, 7_GBps, 3_us), kind, size, algorithm);
          auto const inside = time_of(tests::crossbar_node(ranks, 7_GBps, 3_us), kind, size, algorithm);
          INFO(name_of(kind) << " by " << name_of(algorithm) << ", " << ranks << " ranks, " << size.count()
                             << " bytes: " << expected.count() << " ps step by step, " << across.count()
                             << " ps across nodes, " << inside.count() << " ps inside one");
          CHECK(expected - across <= Duration{schedule.steps});
          CHECK(across - expected <= Duration{schedule.steps});
          CHECK(expected - inside <= Duration{schedule.steps});
          CHECK(inside - expected <= Duration{schedule.steps});
        }
    }
}

TEST_CASE("a fold of a pipeline through a switch takes as long as its messages one by one, within 1 ps a step",
          "[folded][nvls][property]") {
  for (auto const kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter})
    for (auto const ranks : {2, 3, 8, 32})
      for (auto const size : {64_KiB, 2_MiB, 64_MiB}) {
        auto cluster = tests::crossbar_node(ranks, 7_GBps, 0_us);
        cluster.node().link.multicast_efficiency.value = cluster.node().link.rack_multicast_efficiency.value = 1;
        cluster.node().link.multicast_latency.value = 3_us;
        auto const topology = Topology{cluster};
        auto const layout = all_of(cluster);
        auto const placement = Placement{layout, cluster, topology};
        auto request = FoldRequest{kind, size * ranks, placement, cluster, topology, Algorithm::kNvls};
        request.channels = 4;
        auto const timing = nvls_timing(request);
        // Whole bytes in every chunk.
        request.size = Bytes{round_up(request.size.count(), ranks * timing.pieces)};
        REQUIRE(nvls_timing(request).pieces == timing.pieces);
        auto const schedule = pipelined(nvls_schedule(kind, ranks), timing.pieces);
        auto const expected = time_by_steps(schedule, request.size, 7_GBps, timing);
        auto const folded = time_alone(fold_as(request), topology);
        INFO(name_of(kind) << ", " << ranks << " ranks, " << request.size.count() << " bytes, " << timing.pieces
                           << " pieces: " << expected.count() << " ps step by step, " << folded.count() << " folded");
        CHECK(expected - folded <= Duration{schedule.steps});
        CHECK(folded - expected <= Duration{schedule.steps});
      }
}

TEST_CASE("more bytes are never faster", "[folded][property]") {
  for (auto const kind : kCollectiveKinds)
    for (auto const nodes : {1, 2, 3, 16}) {
      auto before = Duration{};
      for (auto size = 1_KB; size < 100_GB; size = size * 3) {
        auto const now = time_of(tests::h100_like(nodes), kind, size);
        CHECK(now >= before);
        before = now;
      }
    }
}

TEST_CASE("more bandwidth is never slower", "[folded][property]") {
  for (auto const kind : kCollectiveKinds)
    for (auto const algorithm : kAlgorithms)
      for (auto const size : {1_KB, 1_MB, 1_GB}) {
        if (!is_available(kind, algorithm)) continue;
        auto cluster = tests::h100_like(3);
        auto const base = time_of(cluster, kind, size, algorithm);
        cluster.node().gpu_link.value = 900_GBps;
        auto const faster_links = time_of(cluster, kind, size, algorithm);
        CHECK(faster_links <= base);
        cluster.node().nic.value = cluster.fabric.port.value = 100_GBps;
        CHECK(time_of(cluster, kind, size, algorithm) <= faster_links);
      }
}

TEST_CASE("more ranks are never faster on a flat network", "[folded][property]") {
  for (auto const kind : kCollectiveKinds)
    for (auto const size : {1_KB, 1_MB, 1_GB}) {
      auto before = Duration{};
      for (auto const ranks : {1, 2, 3, 4, 7, 8, 16, 100, 1024, 131'072}) {
        auto const now = time_of(tests::flat_cluster(ranks, 50_GBps, 2_us), kind, size);
        INFO(name_of(kind) << " of " << size.count() << " bytes on " << ranks << " ranks");
        CHECK(now >= before);
        before = now;
      }
    }
}

TEST_CASE("a fold has as many loads on 131,072 ranks as on 16", "[folded][property]") {
  for (auto const kind : kCollectiveKinds) {
    auto const loads = [&](std::int64_t nodes) {
      auto const cluster = tests::h100_like(nodes);
      auto const topology = Topology{cluster};
      auto count = std::size_t{0};
      for (auto const& phase : fold(question(kind, 1_GB), all_of(cluster), cluster, topology).phases)
        count = std::max(count, phase.loads.size());
      return count;
    };
    CHECK(loads(16'384) <= loads(2) + 2);  // the leaf's uplink and downlink
  }
}

TEST_CASE("a collective over an oversubscribed spine takes as long as its bytes need there", "[folded][property]") {
  auto cluster = tests::h100_like(64);
  cluster.fabric.is_rail_optimised = false;
  cluster.fabric.transport.efficiency.value = 1;
  for (auto const ratio : {1.0, 2.0, 8.0}) {
    cluster.fabric.levels[0].oversubscription.value = ratio;
    // 32 nodes of 8 ranks send half of their 1 GB each to the other leaf, over 32 * 400 GB/s / ratio.
    auto const uplink = transfer_time(128_GB, BytesPerSecond{12'800e9 / ratio});
    CHECK(time_of(cluster, CollectiveKind::kAllToAll, 1_GB) >= uplink);
  }
}
