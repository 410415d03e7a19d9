#include <string>

#include <fmt/format.h>

#include "hw_profiles/facts.hpp"
#include "hw_profiles/reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/settings.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::hw_profiles;
using hardware::IntraNode;

namespace {

std::string facts(std::string const& gpu, int gpus, int nodes, std::string const& intra, std::string const& rest = "") {
  return R"({"gpu": ")" + gpu + R"(", "gpus_per_node": )" + std::to_string(gpus) + R"(, "nodes": )" +
         std::to_string(nodes) + R"(, "intra": ")" + intra + "\"" + rest + "}";
}

constexpr auto kNdr = R"(, "fabric": "infiniband", "nics_per_node": 8, "nic_gbps": 400)";

std::string error_of_facts(std::string const& text) {
  try {
    static_cast<void>(read_cluster(text));
  } catch (InputError const& error) {
    return error.what();
  }
  return "no error";
}

std::string transport_of(std::string const& fabric, int nics, int gbps) {
  return read_cluster(facts("a100-80g", 8, 2, "nvswitch",
                            R"(, "fabric": ")" + fabric + R"(", "nics_per_node": )" + std::to_string(nics) +
                                R"(, "nic_gbps": )" + std::to_string(gbps)))
      .fabric.transport.name;
}

}  // namespace

TEST_CASE("the facts of every published measurement name a cluster of as many GPUs", "[hw_profiles][facts]") {
  auto const all = io::parse_file(TWINSTEP_SOURCE_FOLDER "/tests/fixtures/cluster_facts.json");
  auto read = 0;
  for (auto const& each : all.elements()) {
    CAPTURE(each.path());
    if (!each.find("gpu")) {  // such a measurement cannot be replayed
      CHECK_THROWS_WITH(read_cluster(each), Catch::Contains("without the model of its GPUs"));
      continue;
    }
    auto const cluster = read_cluster(each);
    CHECK(cluster.gpus() == each.at("gpus_per_node").integer() * each.at("nodes").integer());
    ++read;
  }
  CHECK(read >= 150);
}

TEST_CASE("facts take their rates from the GPU, the link and the transport that they name", "[hw_profiles][facts]") {
  auto const cluster = read_cluster(facts("h100-80g", 8, 4, "nvswitch", kNdr));
  CHECK(cluster.node().gpu.name == "h100-sxm5-80");
  CHECK(cluster.node().intra == IntraNode::kNvSwitch);
  CHECK(cluster.node().gpu_link.value == 450_GBps);
  CHECK(cluster.node().link.name == "nvlink4");
  CHECK(cluster.node().nics == 8);
  CHECK(cluster.node().nic.value == 50_GBps);
  CHECK(cluster.fabric.transport.name == "infiniband");
  CHECK(cluster.library.name == "nccl");
  CHECK(cluster.nodes() == 4);
  CHECK(read_cluster(facts("mi300x", 8, 1, "xgmi-mesh")).library.name == "rccl");
}

TEST_CASE("words for the inside of a node choose its links", "[hw_profiles][facts]") {
  auto const of = [](std::string const& gpu, int gpus, std::string const& intra) {
    auto const node = read_cluster(facts(gpu, gpus, 1, intra)).node();
    return std::pair{node.intra, node.link.name};
  };
  CHECK(of("v100-16g", 8, "cube-mesh") == std::pair{IntraNode::kCubeMesh, std::string{"nvlink2"}});
  CHECK(of("gh200", 4, "nvlink-all-to-all") == std::pair{IntraNode::kMesh, std::string{"nvlink4"}});
  CHECK(of("mi355x", 8, "xgmi-mesh") == std::pair{IntraNode::kMesh, std::string{"xgmi"}});
  CHECK(of("titan-rtx", 2, "nvlink-pair") == std::pair{IntraNode::kPairs, std::string{"nvlink2"}});
  CHECK(of("rtx4090", 4, "pcie") == std::pair{IntraNode::kPcieP2p, std::string{"pcie"}});
  CHECK(of("rtx4090", 8, "pcie-no-p2p") == std::pair{IntraNode::kPcieStaged, std::string{"pcie-staged"}});
  CHECK(of("gh200", 1, "nvlink-all-to-all").first == IntraNode::kNone);
}

TEST_CASE("the trays of a rack are merged into as few even NVLink domains as hold them", "[hw_profiles][facts]") {
  auto const domains = [](int trays) {
    auto const cluster = read_cluster(facts("gb200", 4, trays, "nvl72", R"(, "nics_per_node": 4, "nic_gbps": 400)"));
    CHECK(cluster.node().gpus_on_host() == 4);
    CHECK(cluster.node().nics == cluster.node().gpus);
    return std::pair{cluster.nodes(), cluster.node().gpus};
  };
  using Domains = std::pair<std::int64_t, std::int64_t>;
  CHECK(domains(1) == Domains{1, 4});
  CHECK(domains(18) == Domains{1, 72});
  CHECK(domains(32) == Domains{2, 64});
  CHECK(domains(36) == Domains{2, 72});
}

TEST_CASE("EFA of up to 400 Gb/s a node is the first generation, and RoCE may lack GPUDirect", "[hw_profiles][facts]") {
  CHECK(transport_of("efa", 4, 100) == "efa-v1");
  CHECK(transport_of("efa", 16, 200) == "efa");
  CHECK(transport_of("roce-no-gdr", 8, 200) == "roce-host");
}

TEST_CASE("what facts leave out is taken from the GPU's usual node, and said", "[hw_profiles][facts]") {
  auto const text = facts("a100-80g", 4, 2, "nvswitch");
  auto const cluster = read_cluster(text);
  CHECK(cluster.node().nics == 4);  // a DGX A100 has one for each GPU
  CHECK(cluster.node().nic.value == 25_GBps);
  CHECK(cluster.node().nic.basis == hardware::Basis::kAssumed);
  auto const missing = read_facts(io::parse({"facts", text})).missing;
  REQUIRE(missing.size() == 3);
  CHECK_THAT(missing[0], Catch::Contains("\"fabric\" is not stated, infiniband is taken"));
  CHECK_THAT(missing[1], Catch::Contains("4, as in the reference design (dgx-a100-80)"));
  CHECK_THAT(missing[2], Catch::Contains("200, as in the reference design"));
  // One node needs no network.
  CHECK(read_facts(io::parse({"facts", facts("a100-80g", 8, 1, "nvswitch")})).missing.empty());
}

TEST_CASE("facts that lack a count are facts, and what is taken for it is said", "[hw_profiles][facts]") {
  auto const missing_of = [](std::string const& text) { return read_facts(io::parse({"facts", text})).missing; };
  CHECK(read_cluster(std::string{R"({"gpu": "h100-80g", "gpus_per_node": 4})"}).gpus() == 4);
  CHECK_THAT(missing_of(R"({"gpu": "h100-80g", "gpus_per_node": 4, "intra": "nvswitch"})").at(0),
             Catch::Contains("\"nodes\" is not stated, 1 is taken"));
  auto const cluster = read_cluster(std::string{R"({"gpu": "h100-80g", "nodes": 2})"});
  CHECK(cluster.gpus() == 16);
  CHECK_THAT(missing_of(R"({"gpu": "h100-80g", "nodes": 2})").at(0),
             Catch::Contains("\"gpus_per_node\" is not stated, 8, as in the reference design (dgx-h100) is taken"));
  // A node by itself may say that it has no NICs, or nothing of its network.
  CHECK(read_cluster(std::string{R"({"gpu": "rtx4090", "gpus_per_node": 2, "nodes": 1, "nics_per_node": 0})"}).gpus() ==
        2);
  // What cannot be guessed is named.
  CHECK_THROWS_WITH(read_cluster(std::string{R"({"gpus_per_node": 8, "nodes": 2})"}),
                    Catch::Contains("without the model of its GPUs"));
  CHECK_THROWS_WITH(read_cluster(std::string{R"({"gpu": "h100-80g"})"}),
                    Catch::Contains("neither how many GPUs a node has nor how many nodes there are"));
}

TEST_CASE("any numbers of GPUs and NICs make a node", "[hw_profiles][facts]") {
  for (auto const gpu : {"h100-80g", "rtx4090", "mi300x", "v100-32g", "p100-pcie", "gb200"})
    for (auto gpus = 1; gpus <= 8; ++gpus)
      for (auto const nics : {1, 2, 3, 5, 6, 7, 9}) {
        auto const text = fmt::format(
            R"({{"gpu": "{}", "gpus_per_node": {}, "nodes": 3, "fabric": "infiniband", "nics_per_node": {}, "nic_gbps": 200}})",
            gpu, gpus, nics);
        INFO(text);
        auto const cluster = read_cluster(text);
        CHECK(cluster.gpus() == 3 * gpus);
        CHECK(cluster.nics() * cluster.nodes() == 3 * nics);
      }
}

TEST_CASE("host memory grows with the GPUs, and fewer of them share no PCIe switch", "[hw_profiles][facts]") {
  auto const host = [](std::string const& gpu, int gpus, std::string const& intra) {
    return read_cluster(facts(gpu, gpus, 1, intra)).node();
  };
  // A 2080 Ti is found in a workstation with two cards; eight of them need four times its memory.
  CHECK(host("rtx2080ti", 8, "pcie-no-p2p").host.memory_bandwidth.value ==
        host("rtx2080ti", 2, "pcie-no-p2p").host.memory_bandwidth.value * 4.0);
  // A DGX-1 has two GPUs at each switch.
  CHECK(host("v100-32g", 8, "cube-mesh").gpus_per_pcie_switch == 2);
  CHECK(host("v100-32g", 4, "nvlink-all-to-all").gpus_per_pcie_switch == 1);
}

TEST_CASE("a scenario changes a cluster that is given by its facts", "[hw_profiles][facts]") {
  auto scenario = io::parse({"s.json", R"({"cluster": )" + facts("h100-80g", 8, 2, "nvswitch", kNdr) + "}"});
  for (auto const* const setting :
       {"cluster.nodes=3", "cluster.fabric.levels.0.oversubscription=2", "cluster.gpu.memory_capacity=141 GB"})
    scenario = tests::with_setting(scenario, setting);
  auto const cluster = read_cluster(scenario.at("cluster"));
  CHECK(cluster.nodes() == 3);
  CHECK(cluster.fabric.levels.at(0).oversubscription.value == 2);
  CHECK(cluster.fabric.transport.name == "infiniband");
  CHECK(cluster.node().gpu.memory_capacity.value == 141_GB);
}

TEST_CASE("unknown words in facts are refused with the nearest known one", "[hw_profiles][facts]") {
  CHECK_THAT(error_of_facts(facts("h100-80gb", 8, 1, "nvswitch")), Catch::Contains("did you mean \"h100-80g\"?"));
  CHECK_THAT(error_of_facts(facts("h100-80g", 8, 1, "nvswich")), Catch::Contains("did you mean \"nvswitch\"?"));
  CHECK_THAT(error_of_facts(facts("h100-80g", 8, 2, "nvswitch", R"(, "fabric": "infinband")")),
             Catch::Contains("did you mean \"infiniband\"?"));
  CHECK_THAT(error_of_facts(facts("rtx4090", 4, 1, "nvlink-pair")), Catch::Contains("has no link of its own"));
  CHECK_THAT(error_of_facts(facts("h100-80g", 8, 1, "none")), Catch::Contains("found \"none\" for 8 GPUs"));
}
