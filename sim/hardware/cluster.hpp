#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/data_type.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/sourced.hpp"

/// The machine as numbers: GPUs in nodes, nodes on a fabric. All bandwidths are one-way.
namespace twinstep::hardware {

/// Dense arithmetic peak for one element type.
struct Peak {
  DataType type{};
  Sourced<FlopsPerSecond> rate;
  bool operator==(Peak const&) const = default;
};

/// What fraction of its peaks a GPU reaches, by kind of kernel. Meaning and defaults: which terms of a step matter
/// against measurements (a GEMM fraction, attention at its own rate, bytes of memory-bound work, launches).
struct KernelEfficiency {
  Sourced<double> gemm;               ///< of the dense peak, for large shapes
  Sourced<double> gemm_half_k;        ///< k0: a GEMM of inner size k runs at k / (k + k0) of that
  Sourced<double> attention_forward;  ///< of the dense peak, on the FLOPs that causal attention computes
  Sourced<double> attention_backward;
  Sourced<double> memory;  ///< of the HBM peak, for memory-bound kernels
  bool operator==(KernelEfficiency const&) const = default;
};

struct Gpu {
  std::string name;
  std::string description;
  Sourced<Bytes> memory_capacity;
  Sourced<BytesPerSecond> memory_bandwidth;
  std::vector<Peak> peaks;
  Sourced<std::int64_t> sm_count;
  KernelEfficiency efficiency;
  Sourced<Duration> kernel_start;  ///< device time between two kernels of one stream
  Sourced<Bytes> context_memory;   ///< that a process holds before its first tensor
  bool operator==(Gpu const&) const = default;

  /// The dense peak for `type`, or nothing if the GPU lacks it.
  [[nodiscard]] std::optional<FlopsPerSecond> peak(DataType type) const;
};

/// How the GPUs of a node reach each other.
enum class IntraNode : std::uint8_t {
  kNvSwitch,    ///< every GPU has its full NVLink rate to every other
  kPcieP2p,     ///< over PCIe switches or the root, directly
  kPcieStaged,  ///< over PCIe through host memory
  kNone         ///< one GPU
};

/// Latency and efficiency of collectives on one kind of link. Source of the terms: NCCL's cost model
/// (src/graph/tuning.cc) and measured plateaus.
struct LinkCost {
  Sourced<Duration> step_latency;  ///< added by each step of a schedule that crosses this link
  Sourced<double> efficiency;      ///< of the link's rate that a collective reaches
  bool operator==(LinkCost const&) const = default;
};

struct Host {
  Sourced<Duration> launch;                  ///< host time to issue one kernel
  Sourced<Duration> communication_launch;    ///< host time to issue one collective
  Sourced<BytesPerSecond> memory_bandwidth;  ///< DRAM, all GPUs of the node together
  Sourced<Bytes> memory_capacity;
  bool operator==(Host const&) const = default;
};

struct Node {
  std::string name;
  std::string description;
  Gpu gpu;
  std::int64_t gpus = 1;
  IntraNode intra = IntraNode::kNone;
  Sourced<BytesPerSecond> gpu_link;  ///< NVLink of one GPU, all its links together; or its PCIe slot, if there is none
  LinkCost intra_cost;
  Sourced<BytesPerSecond> pcie;           ///< of one GPU to the host
  std::int64_t gpus_per_pcie_switch = 1;  ///< that share one uplink to the root
  std::int64_t nics = 1;
  Sourced<BytesPerSecond> nic;  ///< one of them
  Host host;
  Provenance gpus_from;  ///< of the counts above
  Provenance gpus_per_pcie_switch_from;
  Provenance nics_from;
  bool operator==(Node const&) const = default;
};

enum class FabricKind : std::uint8_t { kInfiniBand, kRoce, kEthernetTcp };

/// One tier of switches, from the nodes up.
struct FabricLevel {
  std::string name;                  ///< "leaf", "spine", "core"
  std::int64_t nodes = 1;            ///< below one switch (or one plane of switches) of this tier
  Sourced<double> oversubscription;  ///< bandwidth from below over bandwidth upwards; 1 is non-blocking
  Sourced<Duration> hop_latency;
  Provenance nodes_from;
  bool operator==(FabricLevel const&) const = default;
};

struct Fabric {
  std::string name;
  std::string description;
  FabricKind kind{};
  bool is_rail_optimised = false;   ///< NIC i of every node hangs on leaf i
  bool has_gpu_direct = true;       ///< NICs read GPU memory; otherwise data bounces through host memory
  Sourced<BytesPerSecond> port;     ///< rate of one port; a NIC runs at the slower of its own and this
  std::int64_t ports_per_node = 0;  ///< NICs of a node that are plugged in; 0 for all of them
  std::vector<FabricLevel> levels;
  LinkCost cost;
  Provenance ports_per_node_from;
  bool operator==(Fabric const&) const = default;

  /// Nodes that the topmost tier connects.
  [[nodiscard]] std::int64_t capacity() const { return levels.empty() ? 1 : levels.back().nodes; }
};

/// Collective-library constants that belong to no link.
struct CollectiveCost {
  Sourced<Duration> launch;                    ///< once for each collective
  Sourced<double> memory_bytes_per_wire_byte;  ///< HBM traffic caused by one byte on the wire
  Sourced<std::int64_t> channels;              ///< SMs that a running collective holds
  Sourced<Bytes> buffers;                      ///< device memory of one communicator
  bool operator==(CollectiveCost const&) const = default;
};

struct Cluster {
  std::string name;
  std::string description;
  Node node;
  std::int64_t nodes = 1;
  Fabric fabric;
  CollectiveCost collectives;
  std::string calibration;  ///< "uncalibrated: …", or what was fitted on what and when
  bool operator==(Cluster const&) const = default;

  [[nodiscard]] std::int64_t gpus() const { return nodes * node.gpus; }
};

}  // namespace twinstep::hardware

namespace twinstep {
template <>
struct EnumNames<hardware::IntraNode> {
  static constexpr std::array<std::string_view, 4> values{"nvswitch", "pcie-p2p", "pcie-staged", "none"};
};
template <>
struct EnumNames<hardware::FabricKind> {
  static constexpr std::array<std::string_view, 3> values{"infiniband", "roce", "ethernet-tcp"};
};
}  // namespace twinstep
