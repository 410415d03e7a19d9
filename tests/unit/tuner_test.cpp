#include "sim/collectives/tuner/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "hw_profiles/embedded.hpp"
#include "hw_profiles/tuning_reader.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
using namespace twinstep::collectives::tuner;
using Catch::Matchers::Contains;
using hardware::Algorithm;
using hardware::Protocol;
using program::CollectiveKind;
using program::Reduction;

namespace {

io::Node shipped_versions() {
  for (auto const& file : hw_profiles::embedded_files())
    if (file.folder == "tuning") return io::parse({std::string{file.name}, std::string{file.text}}).at("versions");
  throw InputError{"no tuning is shipped"};
}

hardware::Tuning tuning(std::string_view version = "") {
  return hw_profiles::read_tuning(shipped_versions(), version);
}

/// What the tuner reads of a machine. Rates one way, as datasheets have them.
struct Facts {
  std::int64_t capability = 90;
  BytesPerSecond nvlink;
  BytesPerSecond pcie = BytesPerSecond{63e9};
  BytesPerSecond nic = 50_GBps;
  hardware::IntraNode intra = hardware::IntraNode::kNvSwitch;
  hardware::CpuVendor cpu = hardware::CpuVendor::kIntel;
  std::int64_t gpus = 8;
  std::int64_t nics = 8;
  std::int64_t gpus_per_host = 0;
};
auto const kH100 = Facts{.capability = 90, .nvlink = 450_GBps};
auto const kA100 = Facts{.capability = 80, .nvlink = 300_GBps, .pcie = BytesPerSecond{31.5e9}, .nic = 25_GBps};
auto const kB200 = Facts{.capability = 100, .nvlink = 900_GBps};
auto const kTwoCards = Facts{.capability = 89,
                             .nvlink = BytesPerSecond{31.5e9},
                             .pcie = BytesPerSecond{31.5e9},
                             .nic = BytesPerSecond{1.25e9},
                             .intra = hardware::IntraNode::kPcieP2p,
                             .gpus = 2,
                             .nics = 1};

hardware::Cluster cluster_of(Facts const& facts, std::int64_t nodes) {
  auto cluster = hardware::Cluster{};
  cluster.nodes = nodes;
  auto& node = cluster.node;
  node.gpu.compute_capability.value = facts.capability;
  node.gpu.memory_bandwidth.value = 1000_GBps;
  node.gpu.pcie.value = node.pcie.value = facts.pcie;
  node.gpus = facts.gpus;
  node.gpus_per_host = facts.gpus_per_host;
  node.intra = facts.intra;
  node.gpu_link.value = facts.nvlink;
  node.link.is_nvlink = facts.intra != hardware::IntraNode::kPcieP2p;
  node.link.multicast_efficiency.value = facts.capability >= 90 ? 0.7 : 0;
  node.nics = facts.nics;
  node.nic.value = facts.nic;
  node.host.cpu = facts.cpu;
  node.host.memory_bandwidth.value = 200_GBps;
  cluster.fabric.port.value = facts.nic;
  cluster.fabric.levels = {{"leaf", nodes, {1.0}, {100_ns}}};
  return cluster;
}

/// A machine with one version of NCCL, and its graph for a group that has the first `per_node` GPUs of each node.
struct Machine {
  hardware::Cluster cluster;
  Environment environment;
  topology::Topology topology;
  Layout layout;
  Graph graph;

  Machine(Facts const& facts, std::int64_t nodes, std::int64_t per_node, std::string_view version = "",
          std::map<std::string, std::string> const& variables = {})
      : cluster{cluster_of(facts, nodes)},
        environment{read_environment(variables)},
        topology{cluster},
        layout{nodes * per_node, {{nodes, per_node}}, 0, 1, 0, 1, 1} {
    cluster.library.tuning = tuning(version);
    cluster.library.environment = variables;
    graph = find_graph(Placement{layout, cluster, topology}, cluster, environment);
  }
  Machine(Machine const&) = delete;
  Machine& operator=(Machine const&) = delete;

  [[nodiscard]] TunerRequest request(CollectiveKind kind, Bytes size, Reduction reduction = Reduction::kSum,
                                     DataType type = DataType::kFp32) const {
    return {kind, size, reduction, type, graph, environment, cluster};
  }
  [[nodiscard]] Tuned row(CollectiveKind kind, Bytes size, Algorithm algorithm,
                          Protocol protocol = Protocol::kSimple) const {
    return row_of(request(kind, size), algorithm, protocol);
  }
  static Tuned row_of(TunerRequest const& request, Algorithm algorithm, Protocol protocol = Protocol::kSimple) {
    for (auto const& each : tune(request))
      if (each.algorithm == algorithm && each.protocol == protocol) return each;
    throw InputError{"no such row"};
  }
  [[nodiscard]] Tuned chosen(CollectiveKind kind, Bytes size) const {
    auto const asked = request(kind, size);
    auto const table = tune(asked);
    return best(table, asked);
  }
};

/// "latency us / algorithm bandwidth GB/s", as NCCL prints its table. At 8 bytes neither the tree's correction nor the
/// plateau of the ring changes them.
std::string cell(Machine const& machine, CollectiveKind kind, Algorithm algorithm,
                 Protocol protocol = Protocol::kSimple) {
  auto const row = machine.row(kind, 8_B, algorithm, protocol);
  // Half a digit of the last place less than nothing: 66.75 us are printed as 66.8.
  return fmt::format("{:.1f}/{:.2f}", to_seconds(row.latency).count() * 1e6 + 1e-6, row.bandwidth.count() / 1e9 + 1e-9);
}

/// What is chosen as sizes grow by powers of two from 8 bytes to 16 GiB: "ring/ll, 2 MiB nvls/simple".
std::string choices(Machine const& machine, CollectiveKind kind) {
  auto text = std::string{};
  auto previous = std::string{};
  for (auto power = 3; power <= 34; ++power) {
    auto const row = machine.chosen(kind, Bytes{std::int64_t{1} << power});
    auto const name = fmt::format("{}/{}", name_of(row.algorithm), name_of(row.protocol));
    if (name == previous) continue;
    auto const unit = power >= 30 ? "GiB" : power >= 20 ? "MiB" : "KiB";
    text += previous.empty() ? name : fmt::format(", {} {} {}", 1 << (power % 10), unit, name);
    previous = name;
  }
  return text;
}

/// The graphs that the golden values state.
Graph one_node(Channels ring, Channels nvls) {
  auto graph = Graph{};
  graph.ranks = graph.ranks_per_node = 8;
  graph.is_nvlink = true;
  graph.has_multicast = nvls.count > 0;
  graph.ring = graph.tree = ring;
  graph.nvls = nvls;
  graph.channels = 2 * ring.count;
  graph.nvls_ctas = 16;
  return graph;
}
Graph several_nodes(std::int64_t nodes) {
  auto graph = one_node({8, 48_GBps, 48_GBps}, {8, 40_GBps, 48_GBps});
  graph.ranks = 8 * nodes;
  graph.nodes = nodes;
  return graph;
}
Graph lone_ranks(std::int64_t nodes) {
  auto graph = Graph{};
  graph.ranks = graph.nodes = nodes;
  graph.ring = graph.tree = {2, 24_GBps, 24_GBps};
  graph.channels = 4;
  return graph;
}

auto const kH100Ring = Channels{12, 30_GBps, 30_GBps};
auto const kA100Ring = Channels{12, 20_GBps, 20_GBps};
auto const kB200Ring = Channels{16, 45_GBps, 45_GBps};
constexpr auto kAllReduce = CollectiveKind::kAllReduce;
constexpr auto kAllGather = CollectiveKind::kAllGather;
constexpr auto kReduceScatter = CollectiveKind::kReduceScatter;

}  // namespace

// The values below follow from the formulas of NVIDIA/nccl 2.30.7, src/graph/tuning.cc, evaluated by hand for the
// graph that stands in each test. Two of them in full:
//   ring/simple, 8 ranks: 8.4 + 14 x 3.4 = 56.0 us; 12 x 30 GB/s x 8/14 = 205.71 GB/s
//   nvls, 8 ranks: 25 us; 40 x 0.85 x 7/8 x 2 = 59.5 < 60; 8 x 59.5 x 8/14 = 272 GB/s
TEST_CASE("8 H100 have NCCL's table of all_reduce", "[tuner][golden]") {
  auto machine = Machine{kH100, 1, 8};
  machine.graph = one_node(kH100Ring, {8, 40_GBps, 60_GBps});
  CHECK(cell(machine, kAllReduce, Algorithm::kRing, Protocol::kLl) == "15.0/80.57");
  CHECK(cell(machine, kAllReduce, Algorithm::kRing, Protocol::kLl128) == "40.6/189.26");
  CHECK(cell(machine, kAllReduce, Algorithm::kRing) == "56.0/205.71");
  CHECK(cell(machine, kAllReduce, Algorithm::kTree, Protocol::kLl) == "15.2/43.58");
  CHECK(cell(machine, kAllReduce, Algorithm::kTree, Protocol::kLl128) == "31.5/128.80");
  CHECK(cell(machine, kAllReduce, Algorithm::kTree) == "64.4/165.60");
  CHECK(cell(machine, kAllReduce, Algorithm::kNvls) == "25.0/272.00");
  CHECK(choices(machine, kAllReduce) == "ring/ll, 2 MiB nvls/simple");
}

TEST_CASE("8 H100 gather and scatter by a ring at every size", "[tuner][golden]") {
  auto machine = Machine{kH100, 1, 8};
  machine.graph = one_node(kH100Ring, {8, 40_GBps, 60_GBps});
  for (auto const kind : {kAllGather, kReduceScatter}) {
    CHECK(cell(machine, kind, Algorithm::kRing, Protocol::kLl) == "10.8/161.14");
    CHECK(cell(machine, kind, Algorithm::kRing, Protocol::kLl128) == "27.3/378.51");
    CHECK(cell(machine, kind, Algorithm::kRing) == "32.2/411.43");
    CHECK(cell(machine, kind, Algorithm::kNvls) == "25.0/208.25");
    CHECK(choices(machine, kind) == "ring/ll, 8 MiB ring/ll128, 32 MiB ring/simple");
  }
}

TEST_CASE("8 A100 have no multicast and climb the protocols of the ring", "[tuner][golden]") {
  auto machine = Machine{kA100, 1, 8};
  machine.graph = one_node(kA100Ring, {});
  CHECK(cell(machine, kAllReduce, Algorithm::kRing, Protocol::kLl) == "15.0/50.11");
  CHECK(cell(machine, kAllReduce, Algorithm::kRing, Protocol::kLl128) == "40.6/126.17");
  CHECK(cell(machine, kAllReduce, Algorithm::kRing) == "56.0/137.14");
  CHECK(choices(machine, kAllReduce) == "ring/ll, 4 MiB ring/ll128, 32 MiB ring/simple");
  CHECK(machine.row(kAllReduce, 1_GiB, Algorithm::kNvls).off_because == "needs an NVSwitch with multicast");
}

TEST_CASE("8 B200 have equal peaks by ring and by switch, and the switch is sooner there", "[tuner][golden]") {
  auto machine = Machine{kB200, 1, 8};
  machine.graph = one_node(kB200Ring, {8, 80_GBps, 90_GBps});
  CHECK(cell(machine, kAllReduce, Algorithm::kNvls) == "25.0/411.43");
  CHECK(cell(machine, kAllReduce, Algorithm::kRing) == "56.0/411.43");
  CHECK(machine.chosen(kAllReduce, 1_GiB).algorithm == Algorithm::kNvls);
}

TEST_CASE("2 nodes of H100 reduce by tree, then by NVLSTree", "[tuner][golden]") {
  auto machine = Machine{kH100, 2, 8};
  machine.graph = several_nodes(2);
  CHECK(cell(machine, kAllReduce, Algorithm::kNvlsTree) == "66.8/246.19");
  CHECK(cell(machine, kAllReduce, Algorithm::kRing) == "131.6/204.80");
  CHECK(cell(machine, kAllReduce, Algorithm::kTree) == "92.4/165.60");
  CHECK(choices(machine, kAllReduce) == "tree/ll, 256 KiB tree/ll128, 4 MiB nvlstree/simple");
}

TEST_CASE("4 and 16 nodes of H100 have NCCL's table", "[tuner][golden]") {
  auto machine = Machine{kH100, 4, 8};
  machine.graph = several_nodes(4);
  CHECK(cell(machine, kAllReduce, Algorithm::kNvlsTree) == "108.6/187.87");
  CHECK(cell(machine, kAllReduce, Algorithm::kRing) == "282.8/198.19");
  CHECK(cell(machine, kAllReduce, Algorithm::kTree) == "120.4/144.00");
  CHECK(choices(machine, kAllReduce) == "tree/ll, 256 KiB tree/ll128, 16 MiB nvlstree/simple, 1 GiB ring/simple");
  CHECK(choices(machine, kAllGather) == "ring/ll, 1 MiB ring/ll128, 128 MiB ring/simple");
  machine.graph = several_nodes(16);
  CHECK(cell(machine, kAllReduce, Algorithm::kNvlsTree) == "192.2/183.43");
  CHECK(cell(machine, kAllReduce, Algorithm::kRing) == "1190.0/193.51");
  CHECK(cell(machine, kAllReduce, Algorithm::kTree) == "176.4/144.00");
}

TEST_CASE("one rank a node gathers by PAT in the middle", "[tuner][golden]") {
  auto machine = Machine{kH100, 4, 8};
  machine.graph = lone_ranks(8);
  CHECK(cell(machine, kAllGather, Algorithm::kPat) == "42.4/36.00");
  CHECK(cell(machine, kAllGather, Algorithm::kRing, Protocol::kLl) == "41.6/23.31");
  CHECK(cell(machine, kAllGather, Algorithm::kRing) == "106.4/54.86");
  CHECK(choices(machine, kAllGather) == "ring/ll, 64 KiB pat/simple, 4 MiB ring/ll128, 32 MiB ring/simple");
}

TEST_CASE("time is latency and bytes over bandwidth, corrected for trees and for large rings", "[tuner]") {
  auto machine = Machine{kH100, 4, 8};
  machine.graph = several_nodes(4);
  // log2(1 MiB / 64) = 14, where Simple's trees reach half: 120.4 us + 1,048,576 B / 72 GB/s = 134.963… us.
  CHECK(machine.row(kAllReduce, 1_MiB, Algorithm::kTree).time == 134'963'556_ps);
  CHECK(machine.row(kAllReduce, 1_MiB, Algorithm::kTree).bandwidth.count() == Approx(72e9));
  // 16 channels x 32 ranks x 64 B = 32 KiB: from there on the ring's 282.8 us are 1.4 times as long.
  CHECK(machine.row(kAllReduce, Bytes{32767}, Algorithm::kRing).latency == 282'800_ns);
  CHECK(machine.row(kAllReduce, Bytes{32768}, Algorithm::kRing).latency == 395'920_ns);
}

TEST_CASE("broadcast is a pipeline that pays every hop where its rings differ", "[tuner]") {
  // One node: 8.4 + 3.4 us, 12 x 30 GB/s x 8/8. Two nodes with a ring for each NIC: 8.4 + 16 x 14 us, 8 x 48 GB/s.
  CHECK(cell(Machine{kH100, 1, 8}, CollectiveKind::kBroadcast, Algorithm::kRing) == "11.8/360.00");
  CHECK(cell(Machine{kH100, 2, 8}, CollectiveKind::kReduce, Algorithm::kRing) == "232.4/384.00");
}

TEST_CASE("an AMD host posts messages more slowly and limits LL otherwise", "[tuner]") {
  // Two nodes of 8 A100: 14 of the ring's 15 steps are inside, where the host's 1 us (Intel) or 2 us (AMD) are longer
  // than NVLink's 0.6: 6.6 + 14 + 2.7, 6.6 + 28 + 2.7.
  auto intel = kA100;
  auto amd = kA100;
  amd.cpu = hardware::CpuVendor::kAmd;
  CHECK(cell(Machine{intel, 2, 8}, kAllGather, Algorithm::kRing, Protocol::kLl) == "23.3/41.60");  // 39 x 16/15
  CHECK(cell(Machine{amd, 2, 8}, kAllGather, Algorithm::kRing, Protocol::kLl) == "37.3/24.00");    // 22.5 x 16/15
}

TEST_CASE("the search finds the channels that NCCL prints", "[tuner][graph]") {
  // NVIDIA/nccl issue 1367 (H100, 12 channels, 24 after doubling) and issue 578 (A100, 24 channels); B200 fills its
  // 721.8 GB/s with 8 channels of 90, each cut in two.
  CHECK(Machine{kH100, 1, 8}.graph.ring == kH100Ring);
  CHECK(Machine{kH100, 1, 8}.graph.channels == 24);
  CHECK(Machine{kA100, 1, 8}.graph.ring == kA100Ring);
  CHECK(Machine{kA100, 1, 8}.graph.tree == kA100Ring);
  CHECK(Machine{kB200, 1, 8}.graph.ring == kB200Ring);
  // (8 + 1) x 40 <= 370.8 GB/s, and what leaves a head may be up to twice as fast; 9 x 80 <= 721.8.
  CHECK(Machine{kH100, 1, 8}.graph.nvls == Channels{8, 40_GBps, 60_GBps});
  CHECK(Machine{kB200, 1, 8}.graph.nvls == Channels{8, 80_GBps, 90_GBps});
  CHECK(Machine{kA100, 1, 8}.graph.nvls == Channels{});
  // Fewer heads load each other less: 6 x 60, 7 x 50, 8 x 40.
  CHECK(Machine{kH100, 1, 5}.graph.nvls.within_nodes == 60_GBps);
  CHECK(Machine{kH100, 1, 6}.graph.nvls.within_nodes == 50_GBps);
  CHECK(Machine{kH100, 1, 7}.graph.nvls.within_nodes == 40_GBps);
}

TEST_CASE("between nodes a NIC bounds each channel", "[tuner][graph]") {
  // Behind PCIe Gen5 a NIC of 50 GB/s counts 48, and is not cut in two where there are more than four.
  auto const h100 = Machine{kH100, 2, 8};
  CHECK(h100.graph.ring == Channels{8, 48_GBps, 48_GBps});
  CHECK(h100.graph.nvls == Channels{8, 40_GBps, 48_GBps});
  CHECK(h100.graph.channels == 16);  // "Channel xx/16": NVIDIA/nccl issue 1453
  CHECK(Machine{kH100, 4, 1}.graph.ring == Channels{2, 24_GBps, 24_GBps});
  // 200 Gb/s behind Gen4: 24 of 25 GB/s. Its trees may be faster inside: 8 x 30 x 7/8 <= 240.
  auto const a100 = Machine{kA100, 2, 8};
  CHECK(a100.graph.ring == Channels{8, 24_GBps, 24_GBps});
  CHECK(a100.graph.tree == Channels{8, 30_GBps, 24_GBps});
}

TEST_CASE("meshes, several NICs a GPU, several GPUs a NIC and racks have their own channels", "[tuner][graph]") {
  // Six NVLinks of 20 GB/s: six channels, twelve after doubling, as on every DGX-1; two GPUs share one link.
  auto const cube = Facts{.capability = 70, .nvlink = 150_GBps, .intra = hardware::IntraNode::kCubeMesh};
  CHECK(Machine{cube, 1, 8}.graph.ring == Channels{6, 20_GBps, 20_GBps});
  CHECK(Machine{cube, 1, 8}.graph.channels == 12);
  CHECK(Machine{cube, 1, 2}.graph.ring == Channels{1, 20_GBps, 20_GBps});
  // Four A100 with four links to each other one: 80 GB/s hold two channels of 40, each cut in two.
  auto const mesh = Facts{.capability = 80, .nvlink = 300_GBps, .intra = hardware::IntraNode::kMesh, .gpus = 4};
  CHECK(Machine{mesh, 1, 4}.graph.ring == kA100Ring);
  CHECK(Machine{mesh, 1, 2}.graph.ring == Channels{4, 20_GBps, 20_GBps});
  // 32 NICs of 100 Gb/s are eight of 400 Gb/s.
  auto const many = Facts{.capability = 90, .nvlink = 450_GBps, .nic = BytesPerSecond{12.5e9}, .nics = 32};
  CHECK(Machine{many, 2, 8}.graph.ring == Channels{8, 48_GBps, 48_GBps});
  // Four NICs of 200 Gb/s for eight GPUs.
  auto const few = Facts{.capability = 90, .nvlink = 450_GBps, .nic = 25_GBps, .nics = 4};
  CHECK(Machine{few, 2, 8}.graph.ring == Channels{4, 24_GBps, 24_GBps});
  // 72 GPUs are one node, of which 32 are heads: 33 x 20 <= 721.8.
  auto rack = Facts{.capability = 100, .nvlink = 900_GBps, .gpus = 72, .nics = 72};
  CHECK(Machine{rack, 1, 72}.graph.nodes == 1);
  CHECK(Machine{rack, 1, 72}.graph.nvls.count == 32);
  CHECK(Machine{rack, 1, 72}.graph.nvls.within_nodes == 20_GBps);
  // … unless that is forbidden: then they are 18 trays of four.
  rack.gpus_per_host = 4;
  auto const trays = Machine{rack, 1, 72, "", {{"NCCL_MNNVL_ENABLE", "0"}}};
  CHECK(trays.graph.nodes == 18);
  CHECK(trays.graph.ranks_per_node == 4);
}

TEST_CASE("the machines' own graphs choose as the golden ones do", "[tuner][graph]") {
  CHECK(choices(Machine{kH100, 1, 8}, kAllReduce) == "ring/ll, 2 MiB nvls/simple");
  CHECK(choices(Machine{kA100, 1, 8}, kAllReduce) == "ring/ll, 4 MiB ring/ll128, 32 MiB ring/simple");
  CHECK(choices(Machine{kH100, 2, 8}, kAllReduce) == "tree/ll, 256 KiB tree/ll128, 4 MiB nvlstree/simple");
}

TEST_CASE("PCIe counts one channel at the speed below its own, and has no LL128", "[tuner][graph]") {
  auto const machine = Machine{kTwoCards, 1, 2};
  CHECK(machine.graph.ring.count == 1);
  CHECK(machine.graph.channels == 2);
  CHECK_FALSE(machine.graph.is_nvlink);
  auto const row = machine.row(kAllReduce, 1_MiB, Algorithm::kRing, Protocol::kLl128);
  CHECK(row.off_because == "LL128 needs NVLink inside the node");
  // Without peer-to-peer, NVLink is not used either, and nothing is multicast.
  auto const disabled = Machine{kH100, 1, 8, "", {{"NCCL_P2P_DISABLE", "1"}}};
  CHECK_FALSE(disabled.graph.is_nvlink);
  CHECK(disabled.graph.nvls.count == 0);
  CHECK(disabled.graph.ring.within_nodes < 20_GBps);
}

TEST_CASE("NVLS wins from 5 GPUs on H200 and from 6 on B200 with NCCL 2.27", "[tuner][versions]") {
  // H200 has the links of H100.
  // 2.27 gives NVLS heads x min(bwIntra, bwInter) x 5/6 and the ring S x bw x n / (2 (n - 1)). On H200 NVLS has 4 x 60,
  // 5 x 60 GB/s: 200 against 360 x 4/6 = 240, 250 against 360 x 5/8 = 225. On B200 5 x 90, 6 x 90: 375 against
  // 720 x 5/8 = 450, 450 against 720 x 6/10 = 432.
  auto const large = [](Facts const& facts, std::int64_t gpus, std::string_view version) {
    return Machine{facts, 1, gpus, version}.chosen(kAllReduce, 8_GiB).algorithm;
  };
  for (auto gpus = 2; gpus <= 8; ++gpus) {
    CAPTURE(gpus);
    CHECK((large(kH100, gpus, "2.27.7") == Algorithm::kNvls) == (gpus >= 5));
    CHECK((large(kB200, gpus, "2.27.7") == Algorithm::kNvls) == (gpus >= 6));
    // 2.28 counts h x min(bwInter, 2 x bwIntra x efficiency x (h - 1) / h) as the bus bandwidth: on H200 6 x 60 with 6
    // GPUs, which is the ring's 360, and NVLS is sooner there; on B200 8 x 90 with 8.
    CHECK((large(kH100, gpus, "2.28.3") == Algorithm::kNvls) == (gpus >= 6));
    CHECK((large(kB200, gpus, "2.28.3") == Algorithm::kNvls) == (gpus >= 8));
  }
}

TEST_CASE("versions differ in their constants", "[tuner][versions]") {
  // 8 heads x 40 GB/s x 5/6 = 266.67 before 2.28.
  auto const old = Machine{kH100, 1, 8, "2.27.7"};
  CHECK(cell(old, kAllReduce, Algorithm::kNvls) == "25.0/266.67");
  CHECK(cell(old, kAllGather, Algorithm::kNvls) == "25.0/280.00");  // 8 x 40 x 7/8, not converted
  // 2.19 to 2.22: 28 us a step of a tree with Simple, and no base: 2 x 7 x 28.
  CHECK(cell(Machine{kH100, 1, 8, "2.22.3"}, kAllReduce, Algorithm::kTree) == "392.0/165.60");
  CHECK(cell(Machine{kH100, 1, 8, "2.18.5"}, kAllReduce, Algorithm::kTree) == "56.0/165.60");
  // 2.21 counts LL on H100 up to 141 GB/s of bus bandwidth, 2.20 up to a quarter of 360: 90, and 87.7 at most.
  CHECK(cell(Machine{kH100, 1, 8, "2.20.5"}, kAllReduce, Algorithm::kRing, Protocol::kLl) == "15.0/50.11");
  CHECK(cell(Machine{kH100, 1, 8, "2.21.5"}, kAllReduce, Algorithm::kRing, Protocol::kLl) == "15.0/80.57");
  CHECK(Machine{kH100, 4, 1, "2.22.3"}.row(kAllGather, 1_MiB, Algorithm::kPat).off_because ==
        "needs version 2.23 or later");
  CHECK(Machine{kH100, 4, 1, "2.23.4"}.row(kAllGather, 1_MiB, Algorithm::kPat).is_on());
  // Blackwell: NVLSTree between more than two nodes takes 43.1, 43.8, 80 GB/s a channel; a step 14 us, then 20.9.
  auto const nvls_tree = [](std::string_view version) {
    auto machine = Machine{kB200, 4, 8, version};
    machine.graph.nvls = {8, 90_GBps, 90_GBps};
    return cell(machine, kAllReduce, Algorithm::kNvlsTree);
  };
  CHECK(nvls_tree("2.28.3") == "81.0/177.96");   // 25 + 4 x 14; 8 x 43.1 x 32/62
  CHECK(nvls_tree("2.28.9") == "108.6/180.85");  // 25 + 4 x 20.9; 8 x 43.8 x 32/62
  CHECK(nvls_tree("2.30.0") == "108.6/330.32");
}

TEST_CASE("a version takes the newest constants that are not newer", "[tuner][versions]") {
  CHECK(tuning("2.27.7").from_version == "2.27.3");
  CHECK(tuning("2.28.9-1").from_version == "2.28.9");
  CHECK(tuning("2.30.7").from_version == "2.30.0");
  CHECK(tuning("").from_version == "2.30.0");
  CHECK(tuning("2.9999.0").from_version == "2.30.0");
  CHECK_THROWS_WITH(tuning("2.17.1"), Contains("2.18.5 or newer"));
  CHECK_THROWS_WITH(tuning("newest"), Contains("such as \"2.30.0\"") && Contains("2.27.3"));
  CHECK_THROWS_WITH(tuning("2..5"), Contains("such as"));
  auto const read = [](std::string text) { return hw_profiles::read_tuning(io::parse({"mine.json", text}), ""); };
  CHECK_THROWS_WITH(read("[]"), Contains("mine.json:1:1") && Contains("found no version"));
  CHECK_THROWS_WITH(read(R"([{"from": "2.30.0"}, {"from": "2.28.3"}])"), Contains("rising versions"));
  CHECK_THROWS_WITH(read(R"([{"from": "2.30.0"}])"), Contains("search"));
}

TEST_CASE("operators and element types that the switch lacks turn it off", "[tuner][rules]") {
  auto const machine = Machine{kH100, 1, 8};
  auto const why = [&](Reduction reduction, DataType type) {
    return Machine::row_of(machine.request(kAllReduce, 1_GiB, reduction, type), Algorithm::kNvls).off_because;
  };
  CHECK(why(Reduction::kSum, DataType::kFp32).empty());
  CHECK(why(Reduction::kMax, DataType::kBf16).empty());
  CHECK(why(Reduction::kAverage, DataType::kBf16) == "averages are not done in the switch");
  CHECK(why(Reduction::kMax, DataType::kFp32) == "the switch finds no extremes of fp32 and fp64");
  CHECK(why(Reduction::kSum, DataType::kFp8) == "the switch does not reduce this element type");
  // all_gather only copies.
  CHECK(Machine::row_of(machine.request(kAllGather, 1_GiB, Reduction::kAverage, DataType::kFp8), Algorithm::kNvls)
            .is_on());
  auto const several = Machine{kH100, 2, 8};
  CHECK(several.row(kAllReduce, 1_GiB, Algorithm::kNvls).off_because ==
        "needs SHARP in the network (NCCL_COLLNET_ENABLE)");
  CHECK(several.row(kAllGather, 1_GiB, Algorithm::kPat).off_because == "needs one rank a node");
  // A ring that adds up fp8 over more than 8 ranks counts 1,024 times as long.
  CHECK(Machine::row_of(several.request(kAllReduce, 8_B, Reduction::kSum, DataType::kFp8), Algorithm::kRing).latency ==
        Duration{131'600'000} * 1024);
}

TEST_CASE("variables exclude algorithms and protocols, for one collective or all", "[tuner][environment]") {
  auto const chosen = [](std::map<std::string, std::string> const& variables, CollectiveKind kind = kAllReduce) {
    auto const row = Machine{kH100, 1, 8, "", variables}.chosen(kind, 1_GiB);
    return fmt::format("{}/{}", name_of(row.algorithm), name_of(row.protocol));
  };
  CHECK(chosen({{"NCCL_ALGO", "Ring"}}) == "ring/simple");
  CHECK(chosen({{"NCCL_ALGO", "^NVLS"}}) == "ring/simple");
  CHECK(chosen({{"NCCL_ALGO", "^nvls,RING"}}) == "tree/simple");
  CHECK(chosen({{"NCCL_ALGO", "allreduce:tree;allgather:nvls"}}) == "tree/simple");
  CHECK(chosen({{"NCCL_ALGO", "allreduce:tree;allgather:nvls"}}, kAllGather) == "nvls/simple");
  CHECK(chosen({{"NCCL_ALGO", "allreduce:tree"}}, kReduceScatter) == "ring/simple");
  CHECK(chosen({{"NCCL_ALGO", "ring;allreduce:nvls"}}) == "nvls/simple");
  CHECK(chosen({{"NCCL_PROTO", "LL128"}}) == "ring/ll128");
  CHECK(chosen({{"NCCL_NVLS_ENABLE", "0"}}) == "ring/simple");
  CHECK(chosen({{"NCCL_NVLS_ENABLE", "2"}}) == "nvls/simple");
  CHECK(chosen({{"NCCL_ALGO", "unset"}, {"NCCL_PROTO", ""}}) == "nvls/simple");
  auto const reason = Machine{kH100, 1, 8, "", {{"NCCL_ALGO", "tree"}}}.row(kAllReduce, 1_GiB, Algorithm::kRing);
  CHECK(reason.off_because == "NCCL_ALGO excludes it");
  // Whoever names protocols gets LL128 without NVLink too, even by excluding another one.
  auto const forced = Machine{kTwoCards, 1, 2, "", {{"NCCL_PROTO", "^LL"}}};
  CHECK(forced.row(kAllReduce, 1_MiB, Algorithm::kRing, Protocol::kLl128).is_on());
}

TEST_CASE("variables bound the channels", "[tuner][environment]") {
  auto const channels = [](std::map<std::string, std::string> const& variables) {
    return Machine{kH100, 1, 8, "", variables}.graph.channels;
  };
  CHECK(channels({{"NCCL_MAX_NCHANNELS", "8"}}) == 8);
  CHECK(channels({{"NCCL_MIN_NCHANNELS", "32"}}) == 32);
  CHECK(channels({{"NCCL_MAX_NCHANNELS", "8"}, {"NCCL_MAX_CTAS", "4"}}) == 4);
}

TEST_CASE("small collectives use few channels", "[tuner]") {
  auto const machine = Machine{kH100, 1, 8};
  CHECK(machine.row(kAllReduce, 8_B, Algorithm::kRing, Protocol::kLl).channels == 1);
  // LL on a ring of 8: 512 threads x 64 B = 32 KiB a channel. Simple: 512 x 64 B = 32 KiB.
  CHECK(machine.row(kAllReduce, 128_KiB, Algorithm::kRing, Protocol::kLl).channels == 4);
  CHECK(machine.row(kAllReduce, 256_KiB, Algorithm::kRing).channels == 8);
  CHECK(machine.row(kAllReduce, 1_GiB, Algorithm::kRing).channels == 24);
  CHECK(machine.row(kAllReduce, 8_B, Algorithm::kNvls).channels == 16);
}

TEST_CASE("variables that leave nothing say what would", "[tuner][environment]") {
  auto const machine = Machine{kH100, 1, 8, "", {{"NCCL_ALGO", "Tree"}}};
  CHECK_THROWS_AS(machine.chosen(kAllGather, 1_MiB), InputError);
  CHECK_THROWS_WITH(machine.chosen(kAllGather, 1_MiB), Contains("NCCL_ALGO: found \"Tree\"") &&
                                                           Contains("all_gather") && Contains("ring/ll128") &&
                                                           Contains("nvls/simple"));
  // Before 2.24 a ring ran then.
  auto const old = Machine{kH100, 1, 8, "2.21.5", {{"NCCL_ALGO", "Tree"}}};
  CHECK(old.chosen(kAllGather, 1_MiB).algorithm == Algorithm::kRing);
}

TEST_CASE("variables that make no sense are the user's errors", "[tuner][environment]") {
  CHECK_THROWS_WITH(read_environment({{"NCCL_ALGO", "rnig"}}),
                    Contains("cluster.library.environment.NCCL_ALGO: found \"rnig\"") && Contains("known: tree, ring"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_PROTO", "allredcue:ll"}}), Contains("\"allreduce\""));
  CHECK_THROWS_WITH(read_environment({{"NCCL_ALGO", "allreduce:tree;ring"}}),
                    Contains("before each list but the first"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_ALGO", "^"}}), Contains("a list of tree"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_NVLS_ENABLE", "yes"}}), Contains("between 0 and 2"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_MAX_NCHANNELS", "0"}}), Contains("between 1 and 64"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_MIN_NCHANNELS", "16"}, {"NCCL_MAX_NCHANNELS", "8"}}),
                    Contains("NCCL_MAX_NCHANNELS, which is 8"));
  CHECK_THROWS_WITH(read_environment({{"NCCL_P2P_LEVEL", "near"}}), Contains("one of loc, nvl"));
}

TEST_CASE("variables that change nothing here are listed", "[tuner][environment]") {
  auto const environment = read_environment({{"NCCL_DEBUG", "INFO"},
                                             {"NCCL_NVLS_CHUNKSIZE", "524288"},
                                             {"NCCL_SOCKET_IFNAME", "eth0"},
                                             {"NCCL_BUFFSIZE", "8388608"}});
  CHECK(environment.ignored == std::vector<std::string>{"NCCL_BUFFSIZE", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME"});
  CHECK(environment.nvls_chunk == 512_KiB);
  CHECK(read_environment({{"NCCL_P2P_LEVEL", "0"}}).p2p_is_off);
  CHECK_FALSE(read_environment({{"NCCL_P2P_LEVEL", "nvl"}}).p2p_is_off);
}

TEST_CASE("a choice is explained by where it begins and what the next would take", "[tuner]") {
  auto const machine = Machine{kH100, 1, 8};
  auto const explained = [&](Bytes size) {
    auto const request = machine.request(kAllReduce, size);
    return explain(tune(request), request);
  };
  // 25 us + 16 MiB / 272 GB/s; 40.6 us + 16 MiB / 189.26 GB/s.
  CHECK(explained(16_MiB) ==
        "nvls/simple from 2 MiB on, because it is better in latency and bandwidth (25.0 us and then 272.00 GB/s): "
        "86.7 us, where ring/ll128 would take 129.2 us");
  CHECK(explained(1_KiB) ==
        "ring/ll at every size so far, because it is better in latency and bandwidth (15.0 us and then 80.57 GB/s): "
        "15.0 us, where tree/ll would take 15.2 us");
}
