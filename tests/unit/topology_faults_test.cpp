#include <set>
#include <string>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/topology/topology.hpp"
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

ResourceId find(Topology const& topology, std::string const& name) {
  for (std::size_t r = 0; r < topology.resources().size(); ++r)
    if (topology.resource(ResourceId{r}).name == name) return ResourceId{r};
  return {};
}

hardware::Cluster with_faults(std::vector<hardware::Fault> faults, std::int64_t nodes = 4) {
  auto cluster = tests::h100_like(nodes);
  cluster.faults = std::move(faults);
  return cluster;
}

std::string error_of(std::vector<hardware::Fault> faults) {
  try {
    static_cast<void>(Topology{with_faults(std::move(faults))});
  } catch (InputError const& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the GPUs of a broken NIC use the nearest working one", "[topology][faults]") {
  auto const topology = Topology{with_faults({{"nic3", 1, 0}})};
  auto const way = topology.out_of_node(3);
  CHECK(link_names(topology, topology.under(way, topology.condition_of(0))) == Names{"gpu3.pcie.out", "nic3.out"});
  CHECK(link_names(topology, topology.under(way, topology.condition_of(1))) == Names{"gpu3.pcie.out", "nic2.out"});
  CHECK(link_names(topology, topology.under(topology.into_node(3), 1)) == Names{"nic2.in", "gpu3.pcie.in"});
}

TEST_CASE("a NIC on the same PCIe switch is nearer than one with the next number", "[topology][faults]") {
  auto cluster = with_faults({{"nic2", {}, 0}});
  cluster.node().gpus_per_pcie_switch = 2;
  auto const topology = Topology{cluster};  // GPUs 2 and 3, NICs 2 and 3 on switch 1
  CHECK(topology.nic_of(2) == 3);
  CHECK(link_names(topology, topology.out_of_node(2)) == Names{"gpu2.pcie.out", "nic3.out"});
}

TEST_CASE("a GPU without its NVLink reaches the others over PCIe, and they each other as before",
          "[topology][faults]") {
  auto const topology = Topology{with_faults({{"gpu2.nvlink", {}, 0}})};
  CHECK(link_names(topology, topology.within_node(2, 5)) == Names{"gpu2.pcie.out", "gpu5.pcie.in"});
  CHECK(link_names(topology, topology.within_node(5, 2)) == Names{"gpu5.pcie.out", "gpu2.pcie.in"});
  CHECK(link_names(topology, topology.within_node(0, 1)) == Names{"gpu0.nvlink.out", "gpu1.nvlink.in"});
}

TEST_CASE("a broken link of a mesh is gone round over a third GPU", "[topology][faults]") {
  auto cluster = tests::ideal_cluster(1, 3, IntraNode::kMesh);
  cluster.faults = {{"gpu0.nvlink.gpu1", {}, 0}};
  auto const topology = Topology{cluster};
  CHECK(link_names(topology, topology.within_node(0, 1)) == Names{"gpu0.nvlink.out", "gpu0.nvlink.gpu2",
                                                                  "gpu2.nvlink.in", "gpu2.nvlink.out",
                                                                  "gpu2.nvlink.gpu1", "gpu1.nvlink.in"});
}

TEST_CASE("a slow resource is slow where the fault says, in both directions", "[topology][faults]") {
  auto const topology = Topology{with_faults({{"nic3", 1, 0.5}, {"gpu2.nvlink.out", {}, 0.25}})};
  for (auto const* const direction : {"nic3.out", "nic3.in"}) {
    auto const nic = find(topology, direction);
    CHECK(topology.bandwidth_of(nic, topology.instance(nic, 1, 3)) == 25_GBps);
    CHECK(topology.bandwidth_of(nic, topology.instance(nic, 0, 3)) == 50_GBps);
    CHECK(topology.slowdown(nic, topology.condition_of(1)) == 2);
    CHECK(topology.slowdown(nic, topology.condition_of(0)) == 1);
  }
  CHECK(topology.resource(find(topology, "gpu2.nvlink.out")).bandwidth == BytesPerSecond{112.5e9});
  CHECK(topology.resource(find(topology, "gpu2.nvlink.in")).bandwidth == 450_GBps);
}

TEST_CASE("the node of a tier's fault is the switch group", "[topology][faults]") {
  // 64 nodes, 32 below a leaf: groups 0 and 1, each with 8 rails.
  auto const topology = Topology{with_faults({{"leaf", 1, 0.25}}, 64)};
  auto const up = topology.up(1);
  CHECK(topology.bandwidth_of(up, topology.instance(up, 31, 0)) == 1600_GBps);
  CHECK(topology.bandwidth_of(up, topology.instance(up, 32, 0)) == 400_GBps);
  CHECK(topology.bandwidth_of(up, topology.instance(up, 32, 7)) == 400_GBps);
  CHECK(topology.slowdown_of_tier(1, 0, 0) == 1);
  CHECK(topology.slowdown_of_tier(1, 0, 1) == 4);
  CHECK(topology.faulty_nodes().empty());
}

TEST_CASE("faults that nothing can be made of are refused", "[topology][faults]") {
  CHECK_THAT(error_of({{"nic9", {}, 0}}), Catch::Contains("found no resource called \"nic9\" in this cluster; did you "
                                                          "mean \"nic"));
  CHECK_THAT(error_of({{"nvswitch", {}, 0}}), Catch::Contains("known: ") && Catch::Contains("gpu0.nvlink"));
  CHECK_THAT(error_of({{"nic3", 4, 0}}),
             Catch::Contains("found node 4 of \"nic3\", but there are 4; they count from 0"));
  CHECK_THAT(error_of({{"nic", {}, 0}}), Catch::Contains("found no resource called \"nic\""));
  CHECK_THAT(error_of({{"host.dram", {}, 0}}),
             Catch::Contains("found \"host.dram\" broken, which nothing stands in for"));
  auto all = std::vector<hardware::Fault>{};
  for (auto nic = 0; nic < 8; ++nic) all.push_back({"nic" + std::to_string(nic), 2, 0});
  CHECK_THAT(error_of(all), Catch::Contains("found no working NIC for GPU 0 of node 2; leave one"));
  CHECK_THAT(error_of({{"nic3", {}, 1e-5}, {"nic3.out", 1, 1e-6}}),
             Catch::Contains("found 1e-11 of \"nic3.out\" left by all faults together, expected at least 1e-09"));
}

TEST_CASE("a hashed flow keeps one of a tier's uplinks, and an even spread names none", "[topology][ecmp]") {
  auto cluster = tests::h100_like(64);
  cluster.fabric.levels[0].uplinks = 4;
  auto const even = Topology{cluster};
  CHECK_FALSE(even.uplink(1, 0, 300, 0));
  CHECK(even.resource(even.up(1)).links == 4);
  CHECK(even.resource(even.up(1)).bandwidth == 1600_GBps);  // of all four
  cluster.fabric.levels[0].balancing = hardware::Balancing::kHash;
  auto const hashed = Topology{cluster};
  auto used = std::set<std::int64_t>{};
  for (auto flow = std::int64_t{0}; flow < 64; ++flow) {
    auto const link = hashed.uplink(1, 0, 300, flow);
    REQUIRE(link);
    CHECK(link == hashed.uplink(1, 0, 300, flow));
    used.insert(*link);
  }
  CHECK(used == std::set<std::int64_t>{0, 1, 2, 3});
}
