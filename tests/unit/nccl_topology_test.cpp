#include "validate/records/nccl_topology.hpp"

#include <fmt/core.h>

#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/node_profiles.hpp"
#include "tests/support/texts.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::records;
using namespace twinstep::tests;
using hardware::IntraNode;

namespace {

NodeFacts read_topology(std::string const& name, SelfLinks self_links = SelfLinks::kRefuse) {
  return read_nccl_topology(name, io::read_text(TWINSTEP_FIXTURES "/topo/" + name), self_links);
}

double rate(io::Node const& profile, std::string_view key) {
  return profile.at(key).at("value").bandwidth().count();
}
std::int64_t count(io::Node const& profile, std::string_view key) {
  return profile.at(key).at("value").integer();
}

/// GPUs 0, 1, … below one switch with the links given, "{from, to, count}".
std::string system_of(int gpus, std::vector<std::array<int, 3>> const& links) {
  auto text = std::string{R"(<system version="1"><cpu numaid="0" vendor="AuthenticAMD">)"};
  for (int i = 0; i < gpus; ++i) {
    text +=
        fmt::format(R"(<pci busid="{}" class="0x030200" device="0x20b0" link_speed="16.0 GT/s PCIe" link_width="16">)"
                    R"(<gpu dev="{}" sm="80" rank="{}">)",
                    i, i, i);
    for (auto const& [from, to, links_to] : links)
      if (from == i) text += fmt::format(R"(<nvlink target="{}" count="{}" tclass="0x030200"/>)", to, links_to);
    text += "</gpu></pci>";
  }
  return text + "</cpu></system>";
}

}  // namespace

TEST_CASE("a full dump gives GPUs, switch links, PCIe and NICs", "[records][nccl-topology]") {
  auto facts = read_topology("oci-bm-gpu-h100-8-topo.xml");
  REQUIRE(facts.gpus.size() == 8);
  CHECK(facts.gpus[0].compute_capability == 90);
  CHECK(facts.gpus[0].switch_links == 18);  // 5 + 5 + 4 + 4
  REQUIRE(facts.nics.size() == 16);
  CHECK(facts.nics[2].name == "mlx5_3");
  CHECK(facts.nics[2].nearest == std::vector<std::size_t>{1});
  CHECK(facts.nics[2].distance == Distance::kPxb);  // three bridges lie between
  CHECK(find_intra(facts) == IntraNode::kNvSwitch);
}

TEST_CASE("bridges that report Gen1 or Gen2 above faster links are no bottleneck", "[records][nccl-topology]") {
  auto facts = read_topology("oci-bm-gpu-h100-8-topo.xml");
  // 32 GT/s x 16 lanes x 128/130 / 8 = 63.0 GB/s; the top bridges' 5 GT/s would be 8.
  CHECK(facts.gpus[0].pcie->bandwidth().count() == Approx(63.0e9).epsilon(0.001));
  CHECK(any_contains(facts.warnings, "8 bridges report Gen1 or Gen2 above faster links"));
  auto const profile = profile_of(facts);
  CHECK(rate(profile, "gpu_link") == 450e9);  // 18 links of 25 GB/s
  CHECK(rate(profile, "nic") == 22.5e9);      // 180000 Mb/s
  CHECK(count(profile, "nics") == 16);
  CHECK(count(profile, "gpus_per_pcie_switch") == 1);
  CHECK_FALSE(profile.has("pcie"));  // Gen5 as the shipped node has
  CHECK(any_contains(facts.warnings, "180 Gb/s is no rate of an Ethernet or InfiniBand port"));
  CHECK(profile.at("gpus").at("source").string() == "NCCL topology file oci-bm-gpu-h100-8-topo.xml");
}

TEST_CASE("a file for NCCL keeps the profile's NVLinks and says that NCCL fills them in", "[records][nccl-topology]") {
  for (auto const* const name : {"aws-p4d-24xl-topo.xml", "azure-ndv4-topo.xml"}) {
    auto facts = read_topology(name);
    CHECK(any_contains(facts.warnings, "into which NCCL itself fills the GPUs' NVLinks"));
    CHECK(any_contains(facts.warnings, "found no speed for NIC"));
    auto const profile = profile_of(facts);
    CHECK_FALSE(profile.has("intra"));
    CHECK(count(profile, "gpus") == 8);
    CHECK(count(profile, "gpus_per_pcie_switch") == 2);
  }
}

TEST_CASE("Gen3 rates of GPUs with Gen4 slots are warned about", "[records][nccl-topology]") {
  auto facts = read_topology("aws-p4d-24xl-topo.xml");
  auto const profile = profile_of(facts);
  CHECK(any_contains(facts.warnings, "the PCIe links of 8 GT/s x 16 carry 15.75 GB/s, the slot of a100-sxm4-40 31.5"));
  CHECK(count(profile, "nics") == 4);
}

TEST_CASE("GPUs that only their PCIe rate tells are chosen by it, with a warning", "[records][nccl-topology]") {
  auto facts = read_topology("azure-ndv4-topo.xml");
  CHECK_FALSE(profile_of(facts).at("profile").string().empty());
  CHECK(any_contains(facts.warnings, "only their PCIe links (16 GT/s)"));
  auto asked = read_topology("azure-ndv4-topo.xml");
  CHECK_THAT(std::string{profile_of(asked, "a100-sxm4-80").at("description").string()},
             Catch::Contains("a100-sxm4-80"));
  CHECK_THROWS_WITH(node_profile(asked, "a100-sxm4-81"), Catch::Contains("did you mean \"a100-sxm4-80\""));
}

TEST_CASE("links of a GPU to itself are refused, or left out when asked", "[records][nccl-topology]") {
  CHECK_THROWS_WITH(read_topology("azure-ncv4-topo.xml"),
                    Catch::Contains("azure-ncv4-topo.xml: found links of GPU 0001:00:00.0") &&
                        Catch::Contains("lead to the GPU itself") && Catch::Contains("import it repaired"));
  auto facts = read_topology("azure-ncv4-topo.xml", SelfLinks::kLeaveOut);
  CHECK(any_contains(facts.warnings, "lead to the GPU itself: left out"));
  CHECK(any_contains(facts.warnings, "found no PCIe speed for GPU"));
  auto const profile = profile_of(facts);
  CHECK(profile.at("intra").string() == "pcie-staged");
  CHECK(count(profile, "gpus") == 4);
  CHECK(rate(profile, "nic") == 12.5e9);
  CHECK(profile.at("host").at("cpu").string() == "amd");
}

TEST_CASE("links between GPUs have a shape: pairs, mesh, cube mesh", "[records][nccl-topology]") {
  auto const shape = [](int gpus, std::vector<std::array<int, 3>> const& links) {
    auto both = links;
    for (auto const& [from, to, count] : links) both.push_back({to, from, count});
    auto facts = read_nccl_topology("a.xml", system_of(gpus, both));
    return find_intra(facts);
  };
  CHECK(shape(4, {{0, 1, 12}, {2, 3, 12}}) == IntraNode::kPairs);
  CHECK(shape(4, {{0, 1, 4}, {0, 2, 4}, {0, 3, 4}, {1, 2, 4}, {1, 3, 4}, {2, 3, 4}}) == IntraNode::kMesh);
  // DGX-1: two squares with their diagonals, and an edge from each corner to the other square.
  CHECK(shape(8, {{0, 1, 1},
                  {0, 2, 1},
                  {0, 3, 2},
                  {1, 2, 2},
                  {1, 3, 1},
                  {2, 3, 2},
                  {4, 5, 1},
                  {4, 6, 1},
                  {4, 7, 2},
                  {5, 6, 2},
                  {5, 7, 1},
                  {6, 7, 2},
                  {0, 4, 2},
                  {1, 5, 2},
                  {2, 6, 1},
                  {3, 7, 1}}) == IntraNode::kCubeMesh);
  CHECK(shape(1, {}) == IntraNode::kNone);
  CHECK(shape(2, {}) == IntraNode::kPcieStaged);  // no switch above them
}

TEST_CASE("odd links and NICs are warned about", "[records][nccl-topology]") {
  auto facts = read_nccl_topology("a.xml", system_of(2, {{0, 1, 12}, {1, 0, 6}, {1, 9, 3}}));
  CHECK(any_contains(facts.warnings, "the larger number is taken"));
  CHECK(any_contains(facts.warnings, "links lead to 9, which the file does not have"));
  CHECK(any_contains(facts.warnings, "found no NIC"));
  CHECK(facts.gpus[1].peer_links.at(0) == 12);
  auto const slow = read_nccl_topology(
      "a.xml",
      R"(<system><cpu><pci busid="1" class="0x030000"/><nic><net name="eth0" speed="-1"/></nic></cpu></system>)");
  CHECK(any_contains(slow.warnings, "found no speed for NIC eth0 (NCCL then assumes 10 Gb/s)"));
}

TEST_CASE("a dump says what it cannot know", "[records][nccl-topology]") {
  auto const facts = read_topology("oci-bm-gpu-h100-8-topo.xml");
  CHECK(any_contains(facts.unknowns, "the fabric beyond the NICs"));
  CHECK(any_contains(facts.unknowns, "peak rates"));
}

TEST_CASE("what is no topology is refused in one line with the way out", "[records][nccl-topology]") {
  auto const refusal = [](std::string const& text) {
    try {
      static_cast<void>(read_nccl_topology("a.xml", text));
    } catch (InputError const& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  CHECK_THAT(refusal("GPU0 GPU1\n"), Catch::Contains("found no XML") && Catch::Contains("import nvidia-smi"));
  CHECK_THAT(refusal(""), Catch::Contains("found no XML"));
  CHECK_THAT(refusal("<system><cpu>"), Catch::Contains("found no XML") && Catch::Contains("line 1"));
  CHECK_THAT(refusal("<graphs/>"), Catch::Contains("NCCL_TOPO_DUMP_FILE writes it"));
  CHECK_THAT(refusal("<system><cpu/></system>"), Catch::Contains("found no GPU"));
  CHECK_THAT(refusal(R"(<system><pci busid="1" class="0x030000"/></system>)"), Catch::Contains("connected to nothing"));
  CHECK_THAT(refusal(R"(<system><cpu><pci busid="1"><pci busid="1"/></pci></cpu></system>)"),
             Catch::Contains("device \"1\" below itself"));
  CHECK_THAT(refusal(R"(<system><cpu><pci busid="1"/><pci busid="1"/></cpu></system>)"),
             Catch::Contains("\"1\" twice"));
  auto deep = std::string{"<system><cpu>"};
  for (int i = 0; i < 100; ++i) deep += fmt::format(R"(<pci busid="{}">)", i);
  for (int i = 0; i < 100; ++i) deep += "</pci>";
  CHECK_THAT(refusal(deep + "</cpu></system>"), Catch::Contains("nested more than 64 deep"));
}
