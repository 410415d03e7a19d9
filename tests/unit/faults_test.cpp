#include <string>

#include "sim/collectives/folded.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
using topology::Topology;

namespace {

/// An all_reduce ring of 1 GB over all GPUs of `nodes` nodes from `first_node` on.
struct Ring {
  hardware::Cluster cluster;
  Topology topology;
  Folded folded;

  Ring(hardware::Cluster machine, std::int64_t first_node, std::int64_t nodes)
      : cluster{std::move(machine)},
        topology{cluster},
        folded{fold({CollectiveKind::kAllReduce,
                     1_GB,
                     program::Reduction::kSum,
                     DataType::kBf16,
                     {Algorithm::kRing, Protocol::kSimple}},
                    {nodes * cluster.node().gpus, {{nodes, cluster.node().gpus}}, first_node, 1, 0, 1, 1}, cluster,
                    topology)} {}

  [[nodiscard]] double load(std::string const& name) const {
    for (auto const& load : folded.phases.front().loads)
      if (topology.resource(load.resource).name == name) return static_cast<double>(load.bytes.count());
    return 0;
  }
};

hardware::Cluster with_fault(hardware::Fault fault) {
  auto cluster = tests::h100_like(4);
  cluster.faults = {std::move(fault)};
  return cluster;
}

/// Bytes that a 16-GPU ring puts on each NIC: W / 8, W = 2 * 15/16 GB, at 0.98 of the NIC's rate.
constexpr double kNicBytes = 2e9 * 15 / 16 / 8 / 0.98;

}  // namespace

TEST_CASE("a broken NIC doubles the load of its neighbour", "[folded][faults]") {
  auto const ring = Ring{with_fault({"nic3", 1, 0}), 0, 2};
  CHECK(ring.load("nic0.out") == Approx(kNicBytes));
  CHECK(ring.load("nic2.out") == Approx(2 * kNicBytes));
  CHECK(ring.load("nic2.in") == Approx(2 * kNicBytes));
}

TEST_CASE("a NIC at half its rate takes twice the time, whoever waits for it", "[folded][faults]") {
  auto const ring = Ring{with_fault({"nic3", 1, 0.5}), 0, 2};
  CHECK(ring.load("nic2.out") == Approx(kNicBytes));
  CHECK(ring.load("nic3.out") == Approx(2 * kNicBytes));
}

TEST_CASE("a group that does not touch the node with the fault does not feel it", "[folded][faults]") {
  auto const ring = Ring{with_fault({"nic3", 1, 0.5}), 2, 2};
  CHECK(ring.load("nic3.out") == Approx(kNicBytes));
}

TEST_CASE("a fault without a node is in every node", "[folded][faults]") {
  auto const ring = Ring{with_fault({"nic3", {}, 0.5}), 2, 2};
  auto const healthy = Ring{tests::h100_like(4), 2, 2};
  CHECK(time_alone(ring.folded, ring.topology) > time_alone(healthy.folded, healthy.topology));
}

TEST_CASE("rings over half of a mesh reach the links between its GPUs", "[folded][mesh]") {
  // 4 GPUs with 300 GB/s, 100 to each other one. A ring of four moves W = 2 * 3/4 GB through ports of 300 GB/s: 5 ms.
  // A ring of two moves W = 1 GB over one link of 100 GB/s: 10 ms.
  auto cluster = tests::ideal_cluster(1, 4, hardware::IntraNode::kMesh);
  cluster.node().gpu_link.value = 300_GBps;
  auto const four = Ring{cluster, 0, 1};
  CHECK(time_alone(four.folded, four.topology) == 5_ms);
  auto const topology = Topology{cluster};
  auto const two = fold({CollectiveKind::kAllReduce,
                         1_GB,
                         program::Reduction::kSum,
                         DataType::kBf16,
                         {Algorithm::kRing, Protocol::kSimple}},
                        {2, {{1, 2}}, 0, 1, 0, 1, 2}, cluster, topology);
  CHECK(time_alone(two, topology) == 10_ms);
}
