#include <algorithm>

#include "sim/collectives/folded.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
using program::CollectiveKind;
using topology::Topology;

namespace {

constexpr auto kKinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                         CollectiveKind::kBroadcast, CollectiveKind::kReduce,    CollectiveKind::kGather,
                         CollectiveKind::kScatter,   CollectiveKind::kAllToAll};
constexpr auto kAlgorithms = {Algorithm::kRing, Algorithm::kTree, Algorithm::kDirect};

Layout all_of(hardware::Cluster const& cluster) {
  return {cluster.gpus(), {{cluster.nodes, cluster.node.gpus}}, 0, 1, 0, 1, 1};
}

Duration time_of(hardware::Cluster const& cluster, CollectiveKind kind, Bytes size,
                 std::optional<Algorithm> forced = {}) {
  auto const topology = Topology{cluster};
  return time_alone(fold(kind, size, all_of(cluster), cluster, topology, forced), topology);
}

/// Message by message: every step takes `alpha`, then as long as its busiest port, in or out.
Duration time_by_steps(Schedule const& schedule, Bytes size, BytesPerSecond port, Duration alpha) {
  auto total = Duration{};
  for (auto step = std::int64_t{0}; step < schedule.steps; ++step) {
    auto out = std::vector<std::int64_t>(static_cast<std::size_t>(schedule.ranks));
    auto in = out;
    for (auto rank = std::int64_t{0}; rank < schedule.ranks; ++rank)
      for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane)
        if (auto const message = schedule.message(rank, step, lane)) {
          auto const first = chunk_begin(size.count(), schedule.chunks, message->first_chunk);
          auto const last = chunk_begin(size.count(), schedule.chunks, message->first_chunk + message->chunk_count);
          out[static_cast<std::size_t>(rank)] += last - first;
          in[static_cast<std::size_t>(message->to)] += last - first;
        }
    auto const busiest = std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
    total += alpha + transfer_time(Bytes{busiest}, port);
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
  for (auto const kind : kKinds)
    for (auto const algorithm : kAlgorithms) {
      if (!is_available(kind, algorithm) || is_pipelined(kind, algorithm)) continue;
      for (auto const ranks : {2, 3, 5, 8, 9, 13, 16, 24})
        for (auto const bytes_each : {1, 1000, 123'457}) {
          auto const size = Bytes{std::int64_t{bytes_each} * ranks};
          auto const schedule = schedule_of(kind, algorithm, ranks);
          auto const expected = time_by_steps(schedule, size, 7_GBps, 3_us);
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

TEST_CASE("more bytes are never faster", "[folded][property]") {
  for (auto const kind : kKinds)
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
  for (auto const kind : kKinds)
    for (auto const algorithm : kAlgorithms)
      for (auto const size : {1_KB, 1_MB, 1_GB}) {
        if (!is_available(kind, algorithm)) continue;
        auto cluster = tests::h100_like(3);
        auto const base = time_of(cluster, kind, size, algorithm);
        cluster.node.gpu_link.value = 900_GBps;
        auto const faster_links = time_of(cluster, kind, size, algorithm);
        CHECK(faster_links <= base);
        cluster.node.nic.value = cluster.fabric.port.value = 100_GBps;
        CHECK(time_of(cluster, kind, size, algorithm) <= faster_links);
      }
}

TEST_CASE("more ranks are never faster on a flat network", "[folded][property]") {
  for (auto const kind : kKinds)
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
  for (auto const kind : kKinds) {
    auto const loads = [&](std::int64_t nodes) {
      auto const cluster = tests::h100_like(nodes);
      auto const topology = Topology{cluster};
      auto count = std::size_t{0};
      for (auto const& phase : fold(kind, 1_GB, all_of(cluster), cluster, topology).phases)
        count = std::max(count, phase.loads.size());
      return count;
    };
    CHECK(loads(16'384) <= loads(2) + 2);  // the leaf's uplink and downlink
  }
}

TEST_CASE("a collective over an oversubscribed spine takes as long as its bytes need there", "[folded][property]") {
  auto cluster = tests::h100_like(64);
  cluster.fabric.is_rail_optimised = false;
  cluster.fabric.cost.efficiency.value = 1;
  for (auto const ratio : {1.0, 2.0, 8.0}) {
    cluster.fabric.levels[0].oversubscription.value = ratio;
    // 32 nodes of 8 ranks send half of their 1 GB each to the other leaf, over 32 * 400 GB/s / ratio.
    auto const uplink = transfer_time(128_GB, BytesPerSecond{12'800e9 / ratio});
    CHECK(time_of(cluster, CollectiveKind::kAllToAll, 1_GB) >= uplink);
  }
}
