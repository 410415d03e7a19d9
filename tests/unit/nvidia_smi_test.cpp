#include "validate/records/nvidia_smi.hpp"

#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/node_profiles.hpp"
#include "tests/support/texts.hpp"

using namespace twinstep;
using namespace twinstep::records;
using namespace twinstep::tests;
using hardware::IntraNode;

namespace {

NodeFacts read_smi_table(std::string const& name) {
  return read_nvidia_smi(name, io::read_text(TWINSTEP_FIXTURES "/topo/nvidia-smi-topo-" + name));
}

std::string refusal(std::string const& text) {
  try {
    static_cast<void>(read_nvidia_smi("a.txt", text));
  } catch (InputError const& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("all links to everyone are NVSwitch; NICs of storage are left out", "[records][nvidia-smi]") {
  auto facts = read_smi_table("dgx-a100-40gb.txt");
  REQUIRE(facts.gpus.size() == 8);
  CHECK(facts.gpus[3].switch_links == 12);
  CHECK(find_intra(facts) == IntraNode::kNvSwitch);
  CHECK(find_gpus_per_pcie_switch(facts) == 2);  // GPU0 and GPU1 are at PXB distance of NIC0
  CHECK(facts.nics[4].nearest == std::vector<std::size_t>{4, 5});
  auto const profile = profile_of(facts);
  CHECK(profile.at("gpu_link").at("value").bandwidth().count() == 300e9);  // 12 links of 25 GB/s
  CHECK(profile.at("nics").at("value").integer() == 8);                    // of 10
  CHECK(any_contains(facts.warnings, "NIC8, NIC9 share no PCIe switch with a GPU"));
  CHECK(any_contains(facts.warnings, "only their NVLinks (12)"));
  CHECK(any_contains(facts.unknowns, "the NICs' rates"));
}

TEST_CASE("rows of NICs may be missing: columns say the same", "[records][nvidia-smi]") {
  auto facts = read_smi_table("hgx-h100-10nic-gpu-rows.txt");
  CHECK(facts.nics.size() == 10);
  CHECK(facts.nics[5].nearest == std::vector<std::size_t>{3});
  CHECK(facts.nics[5].distance == Distance::kPix);
  auto const profile = profile_of(facts);
  CHECK(profile.at("nics").at("value").integer() == 8);
  CHECK(profile.at("gpus_per_pcie_switch").at("value").integer() == 1);
  CHECK(profile.at("gpu_link").at("value").bandwidth().count() == 450e9);  // 18 links of 25 GB/s
}

TEST_CASE("some links to some others are a cube mesh", "[records][nvidia-smi]") {
  auto facts = read_smi_table("v100-sxm2-8gpu-cube-mesh.txt");
  CHECK(facts.gpus[0].links() == 6);  // 1 + 1 + 2 + 2
  auto const profile = profile_of(facts);
  CHECK(profile.at("intra").string() == "cube-mesh");
  CHECK(profile.at("gpu_link").at("value").bandwidth().count() == 150e9);  // 6 links of 25 GB/s
  CHECK(profile.at("nics").at("value").integer() == 1);
}

TEST_CASE("two GPUs with a bridge are a pair; without, they stage through the host", "[records][nvidia-smi]") {
  auto pair = read_smi_table("2gpu-workstations.txt");
  CHECK(any_contains(pair.warnings, "has 2 matrices: the first is read"));
  CHECK(find_intra(pair) == IntraNode::kPairs);
  CHECK(profile_of(pair, "rtx3090-24").at("intra").string() == "pairs");
  auto apart = read_nvidia_smi("a.txt", "     GPU0 GPU1 CPU Affinity\nGPU0  X  PHB  0-11\nGPU1 PHB  X  0-11\n");
  CHECK(profile_of(apart, "rtx4090-24").at("intra").string() == "pcie-staged");
  auto near = read_nvidia_smi("a.txt", "     GPU0 GPU1 CPU Affinity\nGPU0  X  PIX  0-11\nGPU1 PIX  X  0-11\n");
  CHECK(profile_of(near, "l40s-48").at("intra").string() == "pcie-p2p");
}

TEST_CASE("four GPUs that divide their links are a mesh, four that do not have a switch", "[records][nvidia-smi]") {
  auto const of_four = [](std::string const& links) {
    auto text = std::string{"GPU0 GPU1 GPU2 GPU3\n"};
    for (int i = 0; i < 4; ++i) {
      text += "GPU" + std::to_string(i);
      for (int j = 0; j < 4; ++j) text += " " + (i == j ? "X" : links);
      text += "\n";
    }
    auto facts = read_nvidia_smi("a.txt", text);
    return find_intra(facts);
  };
  CHECK(of_four("NV4") == IntraNode::kMesh);       // 3 x 4 = 12 links, as an A100 has
  CHECK(of_four("NV12") == IntraNode::kNvSwitch);  // 3 x 12 = 36: more than any GPU has
}

TEST_CASE("a terminal's underlines do not matter", "[records][nvidia-smi]") {
  for (auto const* const escape : {"\x1b", ""}) {  // a page that shows the text may have eaten it
    auto const facts = read_nvidia_smi("a.txt", escape + std::string{"[4mGPU0\tGPU1\tCPU Affinity"} + escape +
                                                    "[0m\nGPU0\t X \tNV4\t0-11\nGPU1\tNV4\t X \t0-11\n");
    CHECK(facts.gpus.size() == 2);
    CHECK(facts.gpus[0].peer_links.at(1) == 4);
  }
}

TEST_CASE("a GPU that has NVLinks in a node that ships is doubted without them", "[records][nvidia-smi]") {
  auto const doubts = [](std::string const& gpu) {
    auto facts = read_nvidia_smi("a.txt", "GPU0 GPU1 CPU\nGPU0 X SYS 0-3\nGPU1 SYS X 0-3\n");
    static_cast<void>(profile_of(facts, gpu));
    return any_contains(facts.warnings, "shows no NVLink");
  };
  CHECK(doubts("h100-sxm5-80"));
  CHECK_FALSE(doubts("l40s-48"));
}

TEST_CASE("what a matrix says in two ways, or once, is warned about", "[records][nvidia-smi]") {
  auto const torn = read_nvidia_smi("a.txt", "GPU0 GPU1 NIC0 CPU\nGPU0 X NV4 PIX 0-3\nGPU1 SYS X\n");
  CHECK(any_contains(torn.warnings, "row GPU0 says NV4 of GPU1, whose row says SYS back: SYS is taken"));
  CHECK(any_contains(torn.warnings, "row GPU1 ends before column NIC0"));
  CHECK(read_nvidia_smi("a.txt", "GPU0 GPU1\nGPU0 X NV4\n").gpus[1].peer_links.at(0) == 4);  // from GPU0's row
}

TEST_CASE("what is no matrix is refused in one line with the way out", "[records][nvidia-smi]") {
  CHECK_THAT(refusal("<system/>"), Catch::Contains("found no matrix") && Catch::Contains("nvidia-smi topo -m"));
  CHECK_THAT(refusal("GPU0 GPU1 GPU2\nGPU0 X NV4 NV4\n"), Catch::Contains("found no row of GPU1 and GPU2"));
  CHECK_THAT(refusal("GPU0 GPU1\nGPU0 X\n"), Catch::Contains("a.txt:2: row GPU0 ends before column GPU1"));
  CHECK_THAT(refusal("GPU0 GPU1\nGPU0 X WAT\n"), Catch::Contains("found \"WAT\" in column GPU1"));
  CHECK_THAT(refusal("GPU0 GPU1\nGPU0 NV4 X\n"), Catch::Contains("expected X where a device meets itself"));
}
