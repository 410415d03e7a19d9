#pragma once

#include <cstdint>

#include "sim/hardware/cluster.hpp"

/// Small machines for tests. Everything that is not named is free or endless.
namespace twinstep::tests {

inline constexpr auto kEndless = BytesPerSecond{1e18};

/// Collectives reach the full rate of such links, and pay no step of their own.
inline hardware::Link lossless_link() {
  auto link = hardware::Link{};
  link.is_nvlink = true;
  link.ring_efficiency.value = 1;
  link.pair_efficiency.value = 1;
  link.peer_efficiency.value = 1;
  return link;
}

inline hardware::Library free_library() {
  auto library = hardware::Library{};
  library.tree_efficiency.value = 1;
  library.multicast_tree_efficiency.value = 1;
  for (auto& protocol : library.protocols) protocol = {{1.0}, {1.0}, {1.0}};
  return library;
}

/// A step inside nodes takes `alpha`, whatever the algorithm and protocol.
inline void set_inside_step(hardware::Cluster& cluster, Duration alpha) {
  for (auto& row : cluster.library.tuning.nvlink_latency) row.fill(alpha);
}

/// A machine without latencies or losses, on which only what a test sets costs anything.
inline hardware::Cluster ideal_cluster(std::int64_t nodes, std::int64_t gpus, hardware::IntraNode intra) {
  auto cluster = hardware::Cluster{};
  cluster.name = "test";
  cluster.nodes() = nodes;
  cluster.calibration = "uncalibrated: a test";
  auto& node = cluster.node();
  node.gpus = gpus;
  node.nics = gpus;
  node.intra = intra;
  node.gpu.memory_bandwidth.value = kEndless;
  node.gpu.memory_capacity.value = Bytes{std::int64_t{1} << 40};
  node.gpu.peaks = {{DataType::kBf16, {FlopsPerSecond{1e15}}}, {DataType::kFp32, {FlopsPerSecond{1e14}}}};
  node.gpu.sm_count.value = 100;
  node.gpu.efficiency.gemm.value = 1;
  node.gpu.efficiency.attention_forward.value = 1;
  node.gpu.efficiency.attention_backward.value = 1;
  node.gpu.efficiency.memory.value = 1;
  node.gpu_link.value = kEndless;
  node.pcie.value = kEndless;
  node.nic.value = kEndless;
  node.link = lossless_link();
  node.host.memory_bandwidth.value = kEndless;
  node.host.memory_capacity = {Bytes{std::int64_t{1} << 42}};
  cluster.fabric.port.value = kEndless;
  cluster.fabric.transport.efficiency.value = 1;
  cluster.fabric.transport.lone_gpu_efficiency.value = 1;
  cluster.library = free_library();
  return cluster;
}

/// Every rank has its own port on one switch: `bandwidth` out and in, `alpha` a step. One GPU a node.
inline hardware::Cluster flat_cluster(std::int64_t ranks, BytesPerSecond bandwidth, Duration alpha) {
  auto cluster = ideal_cluster(ranks, 1, hardware::IntraNode::kNone);
  cluster.node().nic.value = bandwidth;
  cluster.fabric.transport.step_latency.value = alpha;
  cluster.fabric.levels = {{"leaf", ranks, {1.0}, {}}};
  return cluster;
}

/// The same inside one node: all GPUs on one NVSwitch crossbar.
inline hardware::Cluster crossbar_node(std::int64_t gpus, BytesPerSecond bandwidth, Duration alpha) {
  auto cluster = ideal_cluster(1, gpus, hardware::IntraNode::kNvSwitch);
  cluster.node().gpu_link.value = bandwidth;
  set_inside_step(cluster, alpha);
  return cluster;
}

/// Nodes of 8 GPUs with 450 GB/s NVLink, 8 NICs of 50 GB/s, rail-optimised leaves of 32 nodes: the rates of a DGX H100
/// on NDR InfiniBand (NVIDIA, *DGX H100 System Data Sheet* and *DGX SuperPOD Reference Architecture*, H100).
/// Efficiencies 0.81 inside and 0.98 between nodes are plateaus of rings in published nccl-tests sweeps, of 8 H200 and
/// of 2 nodes of 8 H100. Latencies are those of a ring with NCCL's Simple protocol (NVIDIA/nccl src/graph/tuning.cc,
/// hwLatencies and baseLatencies): 3.4 us over NVLink, 14 us over the network, 8.4 us once.
inline hardware::Cluster h100_like(std::int64_t nodes) {
  using namespace literals;
  auto cluster = ideal_cluster(nodes, 8, hardware::IntraNode::kNvSwitch);
  auto& node = cluster.node();
  node.gpu.memory_bandwidth.value = 3350_GBps;
  node.gpu.memory_capacity.value = 80_GB;
  node.gpu.peaks = {{DataType::kBf16, {FlopsPerSecond{989e12}}}};
  node.gpu.sm_count.value = 132;
  node.gpu_link.value = 450_GBps;
  node.link.ring_efficiency.value = 0.81;
  node.link.pair_efficiency.value = 0.81;
  node.link.peer_efficiency.value = 0.81;
  node.pcie.value = 63_GBps;
  node.nic.value = 50_GBps;
  node.host.memory_bandwidth.value = 600_GBps;
  auto& fabric = cluster.fabric;
  fabric.is_rail_optimised = true;
  fabric.port.value = 50_GBps;
  fabric.levels = {{"leaf", 32, {1.0}, {100_ns}}, {"spine", 512, {1.0}, {100_ns}}};
  fabric.transport.step_latency.value = 13900_ns;  // and a switch
  fabric.transport.efficiency.value = 0.98;
  set_inside_step(cluster, 3400_ns);
  cluster.library.kernel_start.value = 8400_ns;
  cluster.library.memory_bytes_per_wire_byte.value = 2.5;
  return cluster;
}

}  // namespace twinstep::tests
