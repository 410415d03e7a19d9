/// What NCCL's graph search finds on a machine: the inputs of its cost model.
#include "tests/support/catch.hpp"
#include "tests/support/tuner_machines.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using Catch::Matchers::Contains;

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
