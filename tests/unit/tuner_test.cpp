/// NCCL's cost model against its own tables, by version, and how a choice is explained.
#include <algorithm>
#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/support/tuner_machines.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using Catch::Matchers::Contains;

namespace {

/// "latency us / algorithm bandwidth GB/s", as NCCL prints its table. At 8 bytes neither the tree's correction nor the
/// plateau of the ring changes them.
std::string cell(Machine const& machine, CollectiveKind kind, Algorithm algorithm,
                 Protocol protocol = Protocol::kSimple) {
  auto const row = machine.row(kind, 8_B, algorithm, protocol);
  // Half a digit of the last place less than nothing: 66.75 us are printed as 66.8.
  return fmt::format("{:.1f}/{:.2f}", to_seconds(row.latency).count() * 1e6 + 1e-6, row.bandwidth.count() / 1e9 + 1e-9);
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
