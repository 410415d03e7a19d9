#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/data_type.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/library.hpp"
#include "sim/hardware/sourced.hpp"

/// The machine as numbers: GPUs in nodes, nodes on a fabric. All bandwidths are one-way.
namespace twinstep::hardware {

/// Dense arithmetic peak for one element type.
struct Peak {
  DataType type{};
  Sourced<FlopsPerSecond> rate;
  bool operator==(Peak const&) const = default;
};

/// What one implementation of fused attention reaches: fractions of the dense peak, on the FLOPs that causal attention
/// computes.
struct AttentionKernel {
  std::string name;
  Sourced<double> forward;
  Sourced<double> backward;
  bool operator==(AttentionKernel const&) const = default;
};

/// The part of a GEMM's result that one SM computes at a time.
struct GemmTile {
  Sourced<std::int64_t> rows;
  Sourced<std::int64_t> columns;
  bool operator==(GemmTile const&) const = default;
};

/// What fraction of its peaks a GPU reaches, by kind of kernel. Meaning and defaults: which terms of a step matter
/// against measurements (a GEMM fraction, attention at its own rate, bytes of memory-bound work, launches).
struct KernelEfficiency {
  Sourced<double> gemm;                     ///< of the dense peak, for large shapes
  std::optional<Sourced<double>> gemm_fp8;  ///< the same in 8 bits, where that differs
  Sourced<double> gemm_half_k;              ///< k0: a GEMM of inner size k runs at k / (k + k0) of that
  Sourced<double> attention_forward;        ///< of the dense peak, on the FLOPs that causal attention computes
  Sourced<double> attention_backward;
  std::vector<AttentionKernel> attention_kernels;  ///< others that a software stack may call by their name
  Sourced<double> memory;                          ///< of the HBM peak, for memory-bound kernels
  /// Whole waves of tiles are what SMs that a collective holds take away; where the tile is not known they take their
  /// share.
  std::optional<GemmTile> gemm_tile;
  /// The least tile of a convolution, as the implicit GEMM of one group: a smaller product fills a part of it.
  std::optional<GemmTile> convolution_tile;
  bool operator==(KernelEfficiency const&) const = default;
};

struct Gpu {
  std::string name;
  std::string description;
  Sourced<Bytes> memory_capacity;
  Sourced<BytesPerSecond> memory_bandwidth;
  std::vector<Peak> peaks;
  Sourced<std::int64_t> sm_count;
  std::optional<Sourced<std::int64_t>> compute_capability;  ///< times ten: 90 for sm_90; NVIDIA's only
  std::string link_class;                                   ///< the Link profile of its NVLink or xGMI; empty without
  std::optional<Sourced<BytesPerSecond>> link;              ///< all of it, one way
  std::optional<Sourced<BytesPerSecond>> pcie;              ///< its slot, one way, by the standard
  KernelEfficiency efficiency;
  Sourced<Duration> kernel_start;  ///< device time between two kernels of one stream
  Sourced<Bytes> context_memory;   ///< that a process holds before its first tensor
  /// Failures that interrupt a job, in a thousand days of one GPU with its share of node, network and software.
  std::optional<Sourced<double>> failures_per_thousand_days;
  bool operator==(Gpu const&) const = default;

  /// The dense peak for `type`, or nothing if the GPU lacks it.
  [[nodiscard]] std::optional<FlopsPerSecond> peak(DataType type) const;
  /// Whether it is NVIDIA's and of this compute capability, times ten, or a later one.
  [[nodiscard]] bool has_capability(std::int64_t least) const {
    return compute_capability && compute_capability->value >= least;
  }
  [[nodiscard]] Architecture architecture() const;
};

/// How the GPUs of a node reach each other.
enum class IntraNode : std::uint8_t {
  kNvSwitch,    ///< every GPU has its full NVLink rate to every other
  kMesh,        ///< a link between any two GPUs, each an equal part of a GPU's rate (4 GPUs on NVLink, 8 on xGMI)
  kCubeMesh,    ///< the hybrid cube mesh of a DGX-1: four neighbours with one or two links each
  kPairs,       ///< bridges join two GPUs; the pairs reach each other over PCIe
  kPcieP2p,     ///< over PCIe switches or the root, directly
  kPcieStaged,  ///< over PCIe through host memory
  kNone         ///< one GPU
};

/// A kind of link inside nodes, and what collectives reach of it (hw_profiles/links). Fractions are of a port's one-way
/// rate. Source of the terms: NCCL's cost model (src/graph/tuning.cc) and plateaus of measured sweeps.
struct Link {
  std::string name;
  std::string description;
  bool is_nvlink = false;           ///< which row of step latencies it has; PCIe's otherwise
  Sourced<double> ring_efficiency;  ///< ring and tree
  Sourced<double> pair_efficiency;  ///< a ring of two GPUs
  /// What each of a node's only two GPUs reaches of a full slot where both send to each other at once over one path.
  std::optional<Sourced<double>> duplex_efficiency;
  Sourced<double> peer_efficiency;            ///< all_to_all, send and receive
  Sourced<double> multicast_efficiency;       ///< in-switch reduction and multicast, 8 GPUs or fewer; 0 without
  Sourced<double> rack_multicast_efficiency;  ///< … more than 8
  Sourced<Duration> multicast_latency;
  std::optional<Sourced<BytesPerSecond>> ll_limit;  ///< bus bandwidth of LL inside a node
  bool operator==(Link const&) const = default;
};

/// A way of carrying messages between nodes, and what collectives reach of it (hw_profiles/transports).
struct Transport {
  std::string name;
  std::string description;
  bool is_rdma = true;                  ///< NICs move the data; otherwise a CPU does, and TCP's costs apply
  bool has_gpu_direct = true;           ///< NICs read GPU memory; otherwise data bounces through host memory
  Sourced<double> efficiency;           ///< of the NICs' rate
  Sourced<double> lone_gpu_efficiency;  ///< on top of it, where one GPU of a node takes part
  Sourced<Duration> step_latency;       ///< a network step on top of the library's own, without switches
  bool is_token_bucket = false;         ///< links are shaped: what a pause leaves unsent is made up for afterwards
  bool operator==(Transport const&) const = default;
};

/// Step records that constants have seen: those of a family on up to so many nodes.
struct FittedFamily {
  std::string family;
  std::int64_t most_nodes = 1;
  bool operator==(FittedFamily const&) const = default;
};

/// What a framework's kernels cost beyond the least that their work needs (hw_profiles/stacks). Without a profile every
/// factor is 1: fused kernels that touch each byte once, and ranks that are never late.
struct Stack {
  std::string name;
  std::string description;
  std::string attention;             ///< the GPU's attention kernel that it calls; empty for that of its efficiencies
  Sourced<double> compute{1.0};      ///< on the arithmetic time of GEMMs and attention
  Sourced<double> elementwise{1.0};  ///< on the bytes of a model's memory-bound kernels: casts and copies of eager code
  Sourced<double> loss{1.0};         ///< on the bytes of the cross-entropy
  Sourced<double> optimizer{1.0};    ///< on the bytes of the optimizer: unfused ones read and write their temporaries
  /// Bytes that move for each element of a weight's gradient in each micro-batch: into flat buffers or buckets,
  /// divided, cast, added up.
  Sourced<double> gradient_bytes{0.0};
  /// How much of the SMs that a collective's running channels sit on is lost to kernels launched beside them: 1 if
  /// nothing else fits on them, 0 if only memory bandwidth is shared.
  Sourced<double> held_sms{1.0};
  /// Standard deviation of the time that ranks take for the same kernels, as a share of it: every rank waits for the
  /// latest (sim/cost/kernel_cost.hpp).
  Sourced<double> rank_spread{0.0};
  std::vector<FittedFamily> fitted_on;
  bool operator==(Stack const&) const = default;
};

/// How the job sets up PyTorch's caching allocator (PYTORCH_CUDA_ALLOC_CONF). The default is PyTorch's.
struct Allocator {
  bool expandable_segments = false;  ///< one growing segment for each pool and stream
  std::optional<Bytes> max_split;    ///< blocks of this size and above are never cut; any may be if absent
  bool operator==(Allocator const&) const = default;
};

enum class CpuVendor : std::uint8_t { kIntel, kAmd, kOther };

struct Host {
  CpuVendor cpu = CpuVendor::kIntel;         ///< NCCL's costs of LL and of the network depend on it
  Sourced<Duration> launch;                  ///< host time to issue one kernel
  Sourced<Duration> communication_launch;    ///< host time to issue one collective
  Sourced<BytesPerSecond> memory_bandwidth;  ///< DRAM, all GPUs of the node together
  Sourced<double> memory_efficiency{1.0};    ///< of that, what kernels on the CPU reach: an optimizer's update
  std::optional<Sourced<Bytes>> memory_capacity;
  bool operator==(Host const&) const = default;
};

/// The NVMe drives of one host together, as processes that stream large blocks see them.
struct Drives {
  Sourced<BytesPerSecond> read;
  Sourced<BytesPerSecond> write;
  std::optional<Sourced<Bytes>> capacity;
  bool operator==(Drives const&) const = default;
};

struct Node {
  std::string name;
  std::string description;
  Gpu gpu;
  std::int64_t gpus = 1;
  IntraNode intra = IntraNode::kNone;
  Sourced<BytesPerSecond> gpu_link;  ///< NVLink of one GPU, all its links together; or its PCIe slot, if there is none
  Link link;
  Sourced<BytesPerSecond> pcie;               ///< of one GPU to the host
  std::int64_t gpus_per_pcie_switch = 1;      ///< that share one uplink to the root
  std::optional<std::int64_t> gpus_per_host;  ///< where several hosts share a node: of a tray in a rack, of a Grace
  std::int64_t nics = 1;
  Sourced<BytesPerSecond> nic;  ///< one of them
  Host host;
  std::optional<Drives> drives;
  Provenance gpus_from;  ///< of the counts above
  Provenance gpus_per_pcie_switch_from;
  Provenance gpus_per_host_from;
  Provenance nics_from;
  bool operator==(Node const&) const = default;

  /// GPUs that share one host's memory and drives.
  [[nodiscard]] std::int64_t gpus_on_host() const { return gpus_per_host.value_or(gpus); }
};

/// How a tier with several parallel uplinks chooses among them.
enum class Balancing : std::uint8_t {
  kEven,  ///< packets or flows are spread evenly (adaptive routing)
  kHash   ///< every flow keeps one of them, chosen by a hash of its ends (ECMP)
};

/// One tier of switches, from the nodes up.
struct FabricLevel {
  std::string name;                  ///< "leaf", "spine", "core"
  std::int64_t nodes = 1;            ///< below one switch (or one plane of switches) of this tier
  Sourced<double> oversubscription;  ///< bandwidth from below over bandwidth upwards; 1 is non-blocking
  Sourced<Duration> hop_latency;
  Provenance nodes_from;
  std::int64_t uplinks = 1;  ///< parallel links, equal parts of the bandwidth upwards from one switch group
  Balancing balancing = Balancing::kEven;
  Provenance uplinks_from;
  bool operator==(FabricLevel const&) const = default;
};

struct Fabric {
  std::string name;
  std::string description;
  Transport transport;
  bool is_rail_optimised = false;              ///< NIC i of every node hangs on leaf i
  Sourced<BytesPerSecond> port;                ///< rate of one port; a NIC runs at the slower of its own and this
  std::optional<std::int64_t> ports_per_node;  ///< NICs of a node that are plugged in, if not all
  std::vector<FabricLevel> levels;
  Provenance ports_per_node_from;
  bool operator==(Fabric const&) const = default;

  /// Nodes that the topmost tier connects.
  [[nodiscard]] std::int64_t capacity() const { return levels.empty() ? 1 : levels.back().nodes; }
};

/// A link or NIC that is slower than its kind, or broken.
struct Fault {
  std::string resource;              ///< as Topology names it, without direction: "nic3", "gpu2.nvlink", "leaf"
  std::optional<std::int64_t> node;  ///< of all nodes if not given; of a tier, the switch group
  double rate = 0;                   ///< the fraction of its rate that is left; 0 is broken
  bool operator==(Fault const&) const = default;
};

/// Nodes that are alike.
struct NodeGroup {
  Node node;
  std::int64_t count = 1;
  bool operator==(NodeGroup const&) const = default;
};

struct Cluster {
  std::string name;
  std::string description;
  std::vector<NodeGroup> groups = std::vector<NodeGroup>(1);  ///< at least one; one is all that topologies know
  Fabric fabric;
  Library library;
  Stack stack;
  Allocator allocator;
  std::vector<Fault> faults;
  /// Where nine of ten measured steps lie, as factors on their prediction; only a calibrated cluster has it.
  std::optional<ErrorBand> step_error;
  std::string calibration;  ///< "uncalibrated: …", or what was fitted on what and when
  bool operator==(Cluster const&) const = default;

  /// The node of a cluster of one group, and how many there are.
  [[nodiscard]] Node& node() { return groups.front().node; }
  [[nodiscard]] Node const& node() const { return groups.front().node; }
  [[nodiscard]] std::int64_t& nodes() { return groups.front().count; }
  [[nodiscard]] std::int64_t nodes() const { return groups.front().count; }

  [[nodiscard]] std::int64_t gpus() const { return nodes() * node().gpus; }
  /// NICs of a node that are plugged in.
  [[nodiscard]] std::int64_t nics() const { return std::min(node().nics, fabric.ports_per_node.value_or(node().nics)); }
};

}  // namespace twinstep::hardware

namespace twinstep {
template <>
struct EnumNames<hardware::IntraNode> {
  static constexpr std::array<std::string_view, 7> values{"nvswitch", "mesh",        "cube-mesh", "pairs",
                                                          "pcie-p2p", "pcie-staged", "none"};
};
template <>
struct EnumNames<hardware::Balancing> {
  static constexpr std::array<std::string_view, 2> values{"even", "hash"};
};
template <>
struct EnumNames<hardware::CpuVendor> {
  static constexpr std::array<std::string_view, 3> values{"intel", "amd", "other"};
};
}  // namespace twinstep
