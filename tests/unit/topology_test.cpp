#include "sim/topology/topology.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"
#include "tests/support/routes.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using hardware::IntraNode;
using tests::link_names;
using topology::Topology;
using Names = std::vector<std::string>;

namespace {

BytesPerSecond rate_of(Topology const& topology, std::string const& name) {
  for (auto const& resource : topology.resources())
    if (resource.name == name) return resource.bandwidth;
  return {};
}

/// 8 GPUs on an NVSwitch, two GPUs and two NICs on each PCIe switch.
hardware::Cluster paired_node() {
  auto cluster = tests::h100_like(1);
  cluster.node().gpus_per_pcie_switch = 2;
  return cluster;
}

hardware::Cluster pcie_node(IntraNode intra, std::int64_t gpus_per_switch) {
  auto cluster = tests::ideal_cluster(1, 4, intra);
  cluster.node().gpu_link.value = 25_GBps;
  cluster.node().pcie.value = 25_GBps;
  cluster.node().gpus_per_pcie_switch = gpus_per_switch;
  cluster.node().nics = 1;
  return cluster;
}

}  // namespace

TEST_CASE("on an NVSwitch every pair of GPUs is one port out and one port in apart", "[topology]") {
  auto const topology = Topology{tests::h100_like(2)};
  CHECK(link_names(topology, topology.within_node(0, 3)) == Names{"gpu0.nvlink.out", "gpu3.nvlink.in"});
  CHECK(link_names(topology, topology.within_node(7, 6)) == Names{"gpu7.nvlink.out", "gpu6.nvlink.in"});
  CHECK(topology.within_node(4, 4).empty());
}

TEST_CASE("a GPU reaches the network over its own PCIe link and its own NIC", "[topology]") {
  auto const topology = Topology{tests::h100_like(2)};
  CHECK(link_names(topology, topology.out_of_node(5)) == Names{"gpu5.pcie.out", "nic5.out"});
  CHECK(link_names(topology, topology.into_node(5)) == Names{"nic5.in", "gpu5.pcie.in"});
}

TEST_CASE("two GPUs under one PCIe switch keep to their own NICs and talk over NVLink", "[topology]") {
  auto const topology = Topology{paired_node()};
  CHECK(link_names(topology, topology.out_of_node(1)) == Names{"gpu1.pcie.out", "nic1.out"});
  CHECK(link_names(topology, topology.into_node(2)) == Names{"nic2.in", "gpu2.pcie.in"});
  CHECK(link_names(topology, topology.within_node(0, 1)) == Names{"gpu0.nvlink.out", "gpu1.nvlink.in"});
}

TEST_CASE("GPUs on one PCIe switch talk below it, others over the root", "[topology]") {
  auto const topology = Topology{pcie_node(IntraNode::kPcieP2p, 2)};
  CHECK(link_names(topology, topology.within_node(0, 1)) == Names{"gpu0.pcie.out", "gpu1.pcie.in"});
  CHECK(link_names(topology, topology.within_node(0, 2)) ==
        Names{"gpu0.pcie.out", "pcie_switch0.out", "pcie_switch1.in", "gpu2.pcie.in"});
}

TEST_CASE("in a mesh a message is bound by its own link, and rings by the ports", "[topology]") {
  // 4 GPUs with 450 GB/s: 150 GB/s to each of the three others.
  auto cluster = tests::ideal_cluster(1, 4, IntraNode::kMesh);
  cluster.node().gpu_link.value = 450_GBps;
  auto const topology = Topology{cluster};
  CHECK(link_names(topology, topology.within_node(0, 2)) ==
        Names{"gpu0.nvlink.out", "gpu0.nvlink.gpu2", "gpu2.nvlink.in"});
  CHECK(rate_of(topology, "gpu0.nvlink.gpu2") == 150_GBps);
  CHECK(link_names(topology, topology.ring_link(0, 2)) == Names{"gpu0.nvlink.out", "gpu2.nvlink.in"});
  CHECK(rate_of(topology, "gpu0.nvlink.out") == 450_GBps);
}

TEST_CASE("rings through some GPUs of a mesh use only the links between them", "[topology]") {
  auto const share = [](Topology const& topology, std::vector<std::int64_t> const& gpus) {
    return topology.ring_share(gpus);
  };
  auto const mesh = Topology{tests::ideal_cluster(1, 8, IntraNode::kMesh)};
  CHECK(share(mesh, {0, 5}) == Approx(1.0 / 7));  // one of seven links
  CHECK(share(mesh, {0, 1, 2, 3}) == Approx(3.0 / 7));
  CHECK(share(mesh, {0, 1, 2, 3, 4, 5, 6, 7}) == Approx(1));
  // Each of a DGX-1's first four GPUs has four of its six links to the three others, and two to the other four.
  auto const cube = Topology{tests::ideal_cluster(1, 8, IntraNode::kCubeMesh)};
  CHECK(share(cube, {0, 1, 2, 3}) == Approx(4.0 / 6));
  CHECK(share(cube, {0, 3}) == Approx(2.0 / 6));
  CHECK(share(Topology{tests::h100_like(1)}, {0, 3}) == 1);
}

TEST_CASE("a DGX-1's GPUs reach four others over one or two links and three over one of those", "[topology]") {
  // `nvidia-smi topo -m` of 8 V100: NV2 between 0 and 3, NV1 between 0 and 1, SYS between 0 and 5, which share the
  // neighbours 1 (NV1, NV2) and 4 (NV2, NV1): equally wide, so the one that begins wider is found first.
  auto cluster = tests::ideal_cluster(1, 8, IntraNode::kCubeMesh);
  cluster.node().gpu_link.value = 150_GBps;
  auto const topology = Topology{cluster};
  CHECK(link_names(topology, topology.within_node(0, 3)) ==
        Names{"gpu0.nvlink.out", "gpu0.nvlink.gpu3", "gpu3.nvlink.in"});
  CHECK(rate_of(topology, "gpu0.nvlink.gpu3") == 50_GBps);
  CHECK(rate_of(topology, "gpu0.nvlink.gpu1") == 25_GBps);
  CHECK(link_names(topology, topology.within_node(0, 5)) == Names{"gpu0.nvlink.out", "gpu0.nvlink.gpu4",
                                                                  "gpu4.nvlink.in", "gpu4.nvlink.out",
                                                                  "gpu4.nvlink.gpu5", "gpu5.nvlink.in"});
  // 0 and 7 share 3 (NV2, NV1) and 4 (NV2, NV2): the wider one.
  CHECK(link_names(topology, topology.within_node(0, 7)).at(1) == "gpu0.nvlink.gpu4");
  for (auto gpu = std::int64_t{0}; gpu < 8; ++gpu) {
    auto direct = 0;
    for (auto peer = std::int64_t{0}; peer < 8; ++peer) direct += topology.within_node(gpu, peer).size() == 3 ? 1 : 0;
    CHECK(direct == 4);
  }
}

TEST_CASE("a bridge joins two GPUs, and PCIe the pairs", "[topology]") {
  auto cluster = pcie_node(IntraNode::kPairs, 1);
  auto const topology = Topology{cluster};
  CHECK(link_names(topology, topology.within_node(0, 1)) == Names{"gpu0.nvlink.out", "gpu1.nvlink.in"});
  CHECK(link_names(topology, topology.within_node(1, 2)) == Names{"gpu1.pcie.out", "gpu2.pcie.in"});
}

TEST_CASE("the trays of a rack share NVLink, and each has its own memory and NICs", "[topology]") {
  auto cluster = tests::h100_like(2);  // 8 GPUs as two trays of 4
  cluster.node().gpus_per_host = 4;
  cluster.fabric.transport.has_gpu_direct = false;
  auto const topology = Topology{cluster};
  CHECK(link_names(topology, topology.within_node(0, 7)) == Names{"gpu0.nvlink.out", "gpu7.nvlink.in"});
  CHECK(link_names(topology, topology.device_to_host(3)) == Names{"gpu3.pcie.out", "host0.dram"});
  CHECK(link_names(topology, topology.device_to_host(4)) == Names{"gpu4.pcie.out", "host1.dram"});
  CHECK(link_names(topology, topology.out_of_node(6)) ==
        Names{"gpu6.pcie.out", "host1.dram", "host1.dram", "nic6.out"});
  CHECK(topology.resource(topology.device_to_host(4).back()).gpus == 4);
}

TEST_CASE("staged copies write host memory and read it again", "[topology]") {
  auto const topology = Topology{pcie_node(IntraNode::kPcieStaged, 1)};
  CHECK(link_names(topology, topology.within_node(0, 1)) ==
        Names{"gpu0.pcie.out", "host.dram", "host.dram", "gpu1.pcie.in"});
}

TEST_CASE("without GPUDirect what leaves a GPU for the network crosses host memory twice", "[topology]") {
  auto cluster = tests::h100_like(2);
  cluster.fabric.transport.has_gpu_direct = false;
  auto const topology = Topology{cluster};
  CHECK(link_names(topology, topology.out_of_node(0)) == Names{"gpu0.pcie.out", "host.dram", "host.dram", "nic0.out"});
  CHECK(link_names(topology, topology.into_node(0)) == Names{"nic0.in", "host.dram", "host.dram", "gpu0.pcie.in"});
}

TEST_CASE("a copy to the host crosses the PCIe links up to the root, then host memory", "[topology]") {
  auto const topology = Topology{paired_node()};
  CHECK(link_names(topology, topology.device_to_host()) == Names{"gpu0.pcie.out", "pcie_switch0.out", "host.dram"});
  CHECK(link_names(topology, topology.host_to_device()) == Names{"host.dram", "pcie_switch0.in", "gpu0.pcie.in"});
}

TEST_CASE("a NIC runs at the slower of its own rate and its port's", "[topology]") {
  auto cluster = tests::h100_like(2);
  cluster.fabric.port.value = 25_GBps;
  CHECK(rate_of(Topology{cluster}, "nic0.out") == 25_GBps);
}

TEST_CASE("ports that are not plugged in leave their GPUs to share a NIC", "[topology]") {
  auto cluster = tests::h100_like(2);
  cluster.fabric.ports_per_node = 4;
  auto const topology = Topology{cluster};
  CHECK(topology.nics() == 4);
  CHECK(link_names(topology, topology.out_of_node(3)).back() == "nic1.out");
  CHECK(topology.resource(topology.out_of_node(3).back()).gpus == 2);
}

TEST_CASE("several NICs of one GPU are drawn as one of their summed rate", "[topology]") {
  auto cluster = tests::h100_like(2);
  cluster.node().nics = 32;
  cluster.node().nic.value = cluster.fabric.port.value = BytesPerSecond{12.5e9};
  auto const topology = Topology{cluster};
  CHECK(topology.nics() == 8);
  CHECK(rate_of(topology, "nic7.in") == 50_GBps);
}

TEST_CASE("an uplink carries what enters from below over the oversubscription", "[topology]") {
  auto cluster = tests::h100_like(64);
  cluster.fabric.levels[0].oversubscription.value = 2;
  // Rail-optimised: one NIC of each of 32 nodes, 32 * 50 / 2. Otherwise all 8 of them, 256 * 50 / 2.
  CHECK(rate_of(Topology{cluster}, "leaf.up") == 800_GBps);
  cluster.fabric.is_rail_optimised = false;
  CHECK(rate_of(Topology{cluster}, "leaf.up") == 6400_GBps);
}

TEST_CASE("oversubscription of one tier narrows the tiers above it too", "[topology]") {
  auto cluster = tests::h100_like(1024);
  cluster.fabric.levels[0].oversubscription.value = 2;
  cluster.fabric.levels[1].oversubscription.value = 4;
  cluster.fabric.levels.push_back({"core", 4096, {1.0}, {100_ns}});
  // 512 nodes of 8 NICs bring 204,800 GB/s; half of it passes the leaves, a quarter of that the spine.
  CHECK(rate_of(Topology{cluster}, "spine.up") == 25600_GBps);
}

TEST_CASE("one byte in seven leaves a pod that is oversubscribed 7:1", "[topology]") {
  // 384 nodes of 8 NICs of 50 GB/s bring 153,600 GB/s to the spine; a seventh of it leads to other pods.
  auto cluster = tests::h100_like(768);
  cluster.fabric.is_rail_optimised = false;
  cluster.fabric.levels = {{"leaf", 2, {1.0}, {}}, {"spine", 384, {7.0}, {}}, {"core", 3072, {1.0}, {}}};
  auto const topology = Topology{cluster};
  CHECK(rate_of(topology, "leaf.up") == 800_GBps);
  CHECK(rate_of(topology, "spine.up").count() == Approx(153.6e12 / 7));
  CHECK(topology.meeting_level(0, 383) == 2);
  CHECK(topology.meeting_level(383, 384) == 3);
}

TEST_CASE("nodes meet at the lowest tier that has both below one switch", "[topology]") {
  auto const topology = Topology{tests::h100_like(64)};
  CHECK(topology.meeting_level(7, 7) == 0);
  CHECK(topology.meeting_level(0, 31) == 1);
  CHECK(topology.meeting_level(31, 32) == 2);
}

TEST_CASE("a message crosses each tier twice but the one where its nodes meet", "[topology]") {
  auto cluster = tests::h100_like(64);
  cluster.fabric.levels[0].hop_latency.value = 300_ns;
  cluster.fabric.levels[1].hop_latency.value = 500_ns;
  auto const topology = Topology{cluster};
  CHECK(topology.hop_latency(1) == 300_ns);
  CHECK(topology.hop_latency(2) == 1100_ns);  // 300 + 500 + 300
  auto crossed = Duration{};
  for (auto const link : topology.out_of_node(0)) crossed += topology.resource(link).latency;
  crossed += topology.resource(topology.up(1)).latency + topology.resource(topology.down(1)).latency;
  for (auto const link : topology.into_node(0)) crossed += topology.resource(link).latency;
  CHECK(crossed == 1100_ns);
}

TEST_CASE("the topology of a large cluster is as small as that of one node", "[topology]") {
  auto const small = Topology{tests::h100_like(1)};
  auto const large = Topology{tests::h100_like(4096)};
  CHECK(small.resources().size() == large.resources().size());
  CHECK(large.resource(large.hbm()).instances == 8 * 4096);
  CHECK(large.resource(large.up(1)).instances == 128 * 8);  // 4096 / 32 leaves on each of 8 rails
}

TEST_CASE("a node without a network has no NIC to leave by", "[topology]") {
  auto cluster = tests::h100_like(1);
  cluster.node().nics = 0;
  auto const topology = Topology{cluster};
  CHECK(topology.nics() == 0);
  CHECK_THROWS_AS(topology.out_of_node(0), InternalError);
}
