#include "sim/collectives/folded.hpp"

#include <algorithm>
#include <string>

#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
using topology::Topology;

namespace {

/// A group that has all GPUs of `nodes` nodes.
Layout full_nodes(std::int64_t nodes, std::int64_t gpus) {
  return {nodes * gpus, {{nodes, gpus}}, 0, 1, 0, 1, 1};
}

/// One of `groups` groups that have one GPU on each node.
Layout one_a_node(std::int64_t nodes, std::int64_t groups) {
  return {nodes, {{nodes, 1}}, 0, 1, 0, 1, groups};
}

Question question(CollectiveKind kind, Bytes size, std::optional<Algorithm> forced = {}) {
  return {kind, size, program::Reduction::kSum, DataType::kBf16, {forced, {}}};
}

/// A folded collective with the machine that it was folded on.
struct Folding {
  hardware::Cluster cluster;
  Topology topology;
  Folded folded;

  Folding(hardware::Cluster machine, CollectiveKind kind, Bytes size, Layout const& layout,
          std::optional<Algorithm> forced = {})
      : cluster{std::move(machine)},
        topology{cluster},
        folded{fold(question(kind, size, forced), layout, cluster, topology)} {}

  [[nodiscard]] Duration time() const { return time_alone(folded, topology); }
  [[nodiscard]] Bytes load(std::string const& name, std::size_t phase = 0) const {
    for (auto const& load : folded.phases[phase].loads)
      if (topology.resource(load.resource).name == name) return load.bytes;
    return {};
  }
  /// nccl-tests' bus bandwidth of an all_reduce: 2 (n - 1) / n times size over time.
  [[nodiscard]] double bus_bandwidth(Bytes size, double ranks) const {
    return 2 * (ranks - 1) / ranks * static_cast<double>(size.count()) / to_seconds(time()).count();
  }
};

}  // namespace

TEST_CASE("a ring all_reduce takes 2(p - 1) alpha + 2(p - 1)/p N/B", "[folded][ring]") {
  // N = 2^30 bytes, B = 50 GB/s, alpha = 1 us. At p = 8: 14 us + 1.75 * 1,073,741,824 B / 50 GB/s = 14 us + 37,580.96
  // us.
  auto const time = [](std::int64_t ranks) {
    return Folding{tests::flat_cluster(ranks, 50_GBps, 1_us), CollectiveKind::kAllReduce, 1_GiB, one_a_node(ranks, 1),
                   Algorithm::kRing}
        .time();
  };
  CHECK(time(8) == 37'594'963'840_ps);
  CHECK(time(64) == 42'404'584'320_ps);
  CHECK(time(512) == 43'887'786'880_ps);
  CHECK(time(16'384) == 75'713'051'520_ps);
}

TEST_CASE("the naive all_reduce moves 2(p - 1) buffers through the root's link", "[folded][direct]") {
  auto const time = [](std::int64_t ranks) {
    return Folding{tests::flat_cluster(ranks, 1_GBps, 0_us), CollectiveKind::kAllReduce, 1_MB, one_a_node(ranks, 1),
                   Algorithm::kNaive}
        .time();
  };
  CHECK(time(8) == 14_ms);       // 14 N/B
  CHECK(time(1024) == 2046_ms);  // 2046 N/B
}

TEST_CASE("one DGX H100 reaches about 365 GB/s of bus bandwidth with a ring", "[folded][ring]") {
  // 0.81 * 450 = 364.5 GB/s, less 56 us of 82.5 ms (367 was measured).
  auto const folding =
      Folding{tests::h100_like(1), CollectiveKind::kAllReduce, 16_GiB, full_nodes(1, 8), Algorithm::kRing};
  CHECK(folding.bus_bandwidth(16_GiB, 8) == Approx(364.25e9).epsilon(0.001));
}

TEST_CASE("a ring over two DGX H100 is limited by its NICs, at about 390 GB/s", "[folded][ring]") {
  // 8 * 50 * 0.98 = 392 GB/s (393 was measured).
  auto const folding =
      Folding{tests::h100_like(2), CollectiveKind::kAllReduce, 16_GiB, full_nodes(2, 8), Algorithm::kRing};
  CHECK(folding.bus_bandwidth(16_GiB, 16) == Approx(391.4e9).epsilon(0.001));
}

TEST_CASE("in a ring over nodes one of p lanes leaves at each GPU", "[folded][ring]") {
  auto cluster = tests::h100_like(2);
  cluster.node().link.ring_efficiency.value = 1;
  cluster.fabric.transport.efficiency.value = 1;
  // W = 2 * 16 MB * 15 / 16 = 30 MB. Ports carry 7/8 of it, NICs 1/8.
  auto const folding = Folding{cluster, CollectiveKind::kAllReduce, 16_MB, full_nodes(2, 8), Algorithm::kRing};
  CHECK(folding.load("gpu0.nvlink.out") == Bytes{26'250'000});
  CHECK(folding.load("gpu7.nvlink.in") == Bytes{26'250'000});
  CHECK(folding.load("nic3.out") == Bytes{3'750'000});
  CHECK(folding.load("nic3.in") == Bytes{3'750'000});
  CHECK(folding.load("gpu3.pcie.out") == Bytes{3'750'000});
  CHECK(folding.load("gpu0.hbm") == Bytes{75'000'000});  // 2.5 bytes of memory for each on the wire
}

TEST_CASE("latency counts network steps and steps inside nodes", "[folded][ring]") {
  auto cluster = tests::ideal_cluster(4, 8, hardware::IntraNode::kNvSwitch);
  tests::set_inside_step(cluster, 1_us);
  cluster.fabric.transport.step_latency.value = 10_us;
  cluster.fabric.levels = {{"leaf", 4, {1.0}, {100_ns}}};
  cluster.library.kernel_start.value = 5_us;
  // 31 steps a pass, 3 of them between nodes, over a leaf each: 28 * 1 + 3 * 10.1 = 58.3 us; all_reduce passes twice.
  auto const latency = [&](CollectiveKind kind) {
    return Folding{cluster, kind, 1_MB, full_nodes(4, 8), Algorithm::kRing}.folded.phases[0].latency;
  };
  CHECK(latency(CollectiveKind::kAllGather) == 63300_ns);
  CHECK(latency(CollectiveKind::kAllReduce) == 121600_ns);
}

TEST_CASE("two cards on one path reach less of it when both send at once", "[folded][ring]") {
  // 100 MB each way at 0.2 of 10 GB/s: 50 ms. A broadcast sends one way, at 0.8: 12.5 ms.
  auto cluster = tests::ideal_cluster(1, 2, hardware::IntraNode::kPcieStaged);
  cluster.node().gpu_link.value = 10_GBps;
  cluster.node().link.pair_efficiency.value = 0.8;
  cluster.node().link.duplex_efficiency = {0.2};
  auto const time = [&](CollectiveKind kind, Bytes size) {
    auto const folding = Folding{cluster, kind, size, full_nodes(1, 2), Algorithm::kRing};
    return time_alone(folding.folded, folding.topology);
  };
  CHECK(time(CollectiveKind::kAllGather, 200_MB) == 50_ms);
  CHECK(time(CollectiveKind::kBroadcast, 100_MB) == 12500_us);
}

TEST_CASE("a pass of a ring goes up to the spine once for each leaf", "[folded][ring]") {
  auto cluster = tests::ideal_cluster(4, 1, hardware::IntraNode::kNone);
  cluster.fabric.levels = {{"leaf", 2, {1.0}, {300_ns}}, {"spine", 4, {1.0}, {500_ns}}};
  // Of three network steps one goes over a leaf, and two over leaf, spine and leaf: 300 + 2 (300 + 500 + 300) ns.
  auto const folding = Folding{cluster, CollectiveKind::kAllGather, 1_MB, one_a_node(4, 1)};
  CHECK(folding.folded.phases[0].latency == 2500_ns);
}

TEST_CASE("a tree climbs the chain of a node and then log2 of the nodes, and comes down again", "[folded][tree]") {
  auto cluster = tests::ideal_cluster(4, 8, hardware::IntraNode::kNvSwitch);
  tests::set_inside_step(cluster, 1_us);
  cluster.fabric.transport.step_latency.value = 10_us;
  cluster.library.tree_efficiency.value = 0.95;
  // 2 (7 * 1 + 2 * 10) us.
  auto const folding = Folding{cluster, CollectiveKind::kAllReduce, 1_MB, full_nodes(4, 8), Algorithm::kTree};
  CHECK(folding.folded.phases[0].latency == 54_us);
  // The busiest of four nodes sends 2 S over 8 NICs; the ports carry 2 S at 0.95 of the ring's efficiency.
  CHECK(folding.load("nic0.out") == 250_KB);
  CHECK(folding.load("gpu3.nvlink.out") == Bytes{2'105'264});
}

TEST_CASE("small messages over many nodes take the tree, large ones the ring", "[folded]") {
  auto const chosen = [](Bytes size) {
    return Folding{tests::h100_like(16), CollectiveKind::kAllReduce, size, full_nodes(16, 8)}.folded.algorithm;
  };
  CHECK(chosen(64_KiB) == Algorithm::kTree);
  CHECK(chosen(16_GiB) == Algorithm::kRing);
}

TEST_CASE("efficiency makes loads larger and leaves rates as they are", "[folded]") {
  auto cluster = tests::crossbar_node(2, 100_GBps, 0_us);
  cluster.node().link.pair_efficiency.value = 0.8;
  auto const folding = Folding{cluster, CollectiveKind::kAllGather, 16_MB, full_nodes(1, 2)};
  CHECK(folding.load("gpu0.nvlink.out") == 10_MB);  // 8 MB / 0.8
  CHECK(folding.time() == 100_us);
}

TEST_CASE("replicas with one rank a node each have their own NIC, or share one", "[folded]") {
  auto cluster = tests::h100_like(4);
  cluster.fabric.transport.efficiency.value = 1;
  // W = 2 * 4 MB * 3 / 4 = 6 MB over one NIC.
  CHECK(Folding{cluster, CollectiveKind::kAllReduce, 4_MB, one_a_node(4, 8), Algorithm::kRing}.load("nic0.out") ==
        6_MB);
  cluster.node().nics = 4;
  CHECK(Folding{cluster, CollectiveKind::kAllReduce, 4_MB, one_a_node(4, 8), Algorithm::kRing}.load("nic0.out") ==
        12_MB);
}

TEST_CASE("a group loads the links of the GPUs that it has", "[folded]") {
  auto const tensor_group = Layout{4, {{1, 4}}, 0, 1, 4, 1, 2};
  auto const folding = Folding{tests::h100_like(1), CollectiveKind::kAllReduce, 16_MB, tensor_group};
  CHECK(folding.load("gpu4.nvlink.out") > 0_B);
  CHECK(folding.load("gpu7.nvlink.out") > 0_B);
  CHECK(folding.load("gpu0.nvlink.out") == 0_B);
}

TEST_CASE("a ring over several nodes has as many lanes as the node with the fewest ranks", "[folded]") {
  auto cluster = tests::h100_like(3);
  cluster.fabric.transport.efficiency.value = 1;
  // 20 ranks; W = 20 MB * 19 / 20 = 19 MB crosses every node, over 4 NICs: the third node's.
  auto const uneven = Layout{20, {{2, 8}, {1, 4}}, 0, 1, 0, 1, 1};
  auto const folding = Folding{cluster, CollectiveKind::kAllGather, 20_MB, uneven};
  CHECK(folding.load("nic0.out") == Bytes{4'750'000});
  CHECK(folding.load("nic7.out") == 0_B);
}

TEST_CASE("staged rings write and read every byte in host memory", "[folded]") {
  auto cluster = tests::ideal_cluster(1, 4, hardware::IntraNode::kPcieStaged);
  // W = 4 MB * 3 / 4 on each of four hops, twice each.
  auto const folding = Folding{cluster, CollectiveKind::kAllGather, 4_MB, full_nodes(1, 4)};
  CHECK(folding.load("host.dram") == 24_MB);
  CHECK(folding.load("gpu2.pcie.out") == 3_MB);
}

TEST_CASE("a ring crosses each leaf boundary once in each lane", "[folded]") {
  auto cluster = tests::h100_like(4);
  cluster.fabric.transport.efficiency.value = 1;
  cluster.fabric.levels[0].nodes = 2;
  cluster.fabric.levels[0].oversubscription.value = 4;
  // W = 32 MB * 31 / 32 = 31 MB. Rail-optimised: an eighth of it through each leaf.
  CHECK(Folding{cluster, CollectiveKind::kAllGather, 32_MB, full_nodes(4, 8)}.load("leaf.up") == Bytes{3'875'000});
  cluster.fabric.is_rail_optimised = false;
  auto const folding = Folding{cluster, CollectiveKind::kAllGather, 32_MB, full_nodes(4, 8)};
  CHECK(folding.load("leaf.up") == 31_MB);
  CHECK(folding.load("leaf.down") == 31_MB);
  // Under one leaf nothing goes up.
  CHECK(Folding{cluster, CollectiveKind::kAllGather, 32_MB, full_nodes(2, 8)}.load("leaf.up") == 0_B);
}

TEST_CASE("all_to_all pushes what is meant for other leaves through the uplinks", "[folded]") {
  auto cluster = tests::h100_like(4);
  cluster.fabric.transport.efficiency.value = 1;
  cluster.fabric.levels[0].nodes = 2;
  cluster.fabric.is_rail_optimised = false;
  // 16 ranks under a leaf send half of their 32 MB to the other leaf.
  auto const folding = Folding{cluster, CollectiveKind::kAllToAll, 32_MB, full_nodes(4, 8)};
  CHECK(folding.load("leaf.up") == 256_MB);
  CHECK(folding.load("nic0.out") == 24_MB);  // to 24 of 32 ranks
}

TEST_CASE("on rails all_to_all crosses the spine even under one leaf", "[folded]") {
  auto cluster = tests::h100_like(2);
  cluster.fabric.transport.efficiency.value = 1;
  // Each of 2 GPUs on a rail sends 1 MB to each of 8 ranks of the other node, 7 of them on other rails.
  CHECK(Folding{cluster, CollectiveKind::kAllToAll, 16_MB, full_nodes(2, 8)}.load("leaf.up") == 14_MB);
}

TEST_CASE("bytes on the wire count what leaves ranks, inside nodes and between them", "[folded]") {
  auto const wire = [](CollectiveKind kind, Algorithm algorithm) {
    auto const folded = Folding{tests::h100_like(2), kind, 16_MB, full_nodes(2, 8), algorithm}.folded;
    return std::pair{folded.intra, folded.inter};
  };
  // 16 links of the ring carry 30 MB each, 2 of them between nodes.
  CHECK(wire(CollectiveKind::kAllReduce, Algorithm::kRing) == std::pair{420_MB, 60_MB});
  // 15 edges of a tree carry 16 MB up and down, one of them between nodes.
  CHECK(wire(CollectiveKind::kAllReduce, Algorithm::kTree) == std::pair{448_MB, 32_MB});
  // 1 MB from each rank to 7 inside and 8 outside.
  CHECK(wire(CollectiveKind::kAllToAll, Algorithm::kPairwise) == std::pair{112_MB, 128_MB});
  // The root sends 1 MB to each.
  CHECK(wire(CollectiveKind::kScatter, Algorithm::kPairwise) == std::pair{7_MB, 8_MB});
}

TEST_CASE("one rank, or no bytes, costs nothing", "[folded]") {
  for (auto const kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllToAll, CollectiveKind::kGather}) {
    CHECK(Folding{tests::h100_like(1), kind, 1_GB, full_nodes(1, 1)}.folded.phases.empty());
    CHECK(Folding{tests::h100_like(1), kind, 0_B, full_nodes(1, 8)}.folded.phases.empty());
  }
}

TEST_CASE("a message inside a node crosses two ports", "[folded]") {
  auto const cluster = tests::h100_like(2);
  auto const topology = Topology{cluster};
  auto const folded = fold_message(81_MB, RankId{8}, RankId{11}, cluster, topology);
  // 8.4 us launch, 3.4 us step, 81 MB / 0.81 at 450 GB/s.
  CHECK(time_alone(folded, topology) == 11'800_ns + transfer_time(100_MB, 450_GBps));
  CHECK(folded.intra == 81_MB);
  CHECK(folded.inter == 0_B);
}

TEST_CASE("a message between rails meets at the spine", "[folded]") {
  auto const cluster = tests::h100_like(2);
  auto const topology = Topology{cluster};
  auto const uses_spine = [&](std::size_t to) {
    auto const folded = fold_message(98_MB, RankId{0}, RankId{to}, cluster, topology);
    return std::any_of(folded.phases[0].loads.begin(), folded.phases[0].loads.end(),
                       [&](Load const& load) { return load.resource == topology.up(1); });
  };
  CHECK_FALSE(uses_spine(8));
  CHECK(uses_spine(9));
  // 8.4 + 14 us, the leaf included, then 98 MB / 0.98 at 50 GB/s.
  CHECK(time_alone(fold_message(98_MB, RankId{0}, RankId{8}, cluster, topology), topology) == 2_ms + 22'400_ns);
}

TEST_CASE("a message to itself costs nothing", "[folded]") {
  auto const cluster = tests::h100_like(1);
  CHECK(fold_message(1_GB, RankId{3}, RankId{3}, cluster, Topology{cluster}).phases.empty());
}

TEST_CASE("an algorithm that cannot do the collective is refused", "[folded]") {
  auto const cluster = tests::h100_like(1);
  CHECK_THROWS_AS(
      fold(question(CollectiveKind::kAllGather, 1_MB, Algorithm::kTree), full_nodes(1, 8), cluster, Topology{cluster}),
      InputError);
}
