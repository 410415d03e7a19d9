#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"

namespace twinstep::hardware {

/// How a collective is done. The first seven are NCCL's, in the order of its tables (src/init.cc); the others are used
/// by send and receive, by CPU libraries, and for teaching.
enum class Algorithm : std::uint8_t {
  kTree,           ///< double binary tree over nodes, a chain inside each
  kRing,           ///< every rank sends to the next one
  kCollNetDirect,  ///< the network reduces; every GPU hands over its part
  kCollNetChain,   ///< the network reduces; a chain inside each node
  kNvls,           ///< the NVSwitch reduces and multicasts
  kNvlsTree,       ///< the NVSwitch inside nodes, a double binary tree for each rail between them
  kPat,            ///< a binomial tree for each rank's part, all of them interleaved
  kPairwise,       ///< grouped sends and receives, every rank with every other
  kHalvingDoubling,
  kBinomial,
  kNaive  ///< everything to the root, the result back to everyone
};
inline constexpr std::size_t kTunedAlgorithms = 7;

/// How bytes travel on a connection.
enum class Protocol : std::uint8_t {
  kLl,     ///< 8 bytes of data and 8 of flags in every 16
  kLl128,  ///< 120 bytes of data in every 128
  kSimple  ///< data, then a flag behind a memory fence
};
inline constexpr std::size_t kProtocols = 3;

/// NCCL's names for generations of GPUs, by compute capability 7, 8, 9, 10. Older ones and GPUs that are not NVIDIA's
/// count as the first.
enum class Architecture : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
inline constexpr std::size_t kArchitectures = 4;

template <class T>
using ByProtocol = std::array<T, kProtocols>;
template <class T>
using ByAlgorithm = std::array<ByProtocol<T>, kTunedAlgorithms>;
/// For communicators on one node, on two, on more.
template <class T>
using ByNodes = std::array<T, 3>;
template <class T>
using ByArchitecture = std::array<T, kArchitectures>;

/// What NCCL assumes about machines when it searches for channels (src/graph/search.cc, topo.h, connect.cc).
struct GraphSearch {
  /// The rates that a channel may have, falling.
  struct Speeds {
    std::vector<BytesPerSecond> within_nodes;
    std::vector<BytesPerSecond> between_nodes;
    bool operator==(Speeds const&) const = default;
  };
  /// What a link counts, from a compute capability (times ten) on; 0 is every GPU that is not NVIDIA's.
  struct LinkRate {
    std::int64_t from_capability = 0;
    BytesPerSecond datasheet;
    BytesPerSecond counted;
    bool operator==(LinkRate const&) const = default;
  };

  ByArchitecture<Speeds> speeds;
  std::vector<LinkRate> nvlink;  ///< by rising capability
  LinkRate pcie;
  double intel_pcie_share = 1;  ///< of a PCIe path between two GPUs below an Intel CPU
  BytesPerSecond socket_intel;  ///< between the sockets of a host
  BytesPerSecond socket_amd;
  BytesPerSecond socket_other;
  std::int64_t most_channels = 0;                   ///< MAXCHANNELS
  ByArchitecture<ByNodes<std::int64_t>> nvls_ctas;  ///< channels of NVLS and NVLSTree
  bool rings_grow_to_nvls_ctas = false;             ///< ring and tree get as many channels as NVLS has, up to 2.27
  bool operator==(GraphSearch const&) const = default;
};

/// How a version rates the switch's own reductions.
enum class NvlsModel : std::uint8_t {
  kOneRatio,           ///< 5/6 of the slower of NVLink and NIC
  kRatioOfReductions,  ///< the same for all_reduce; the others by their share of remote ranks
  kEfficiency          ///< an efficiency by architecture, and one head fewer
};

/// The constants of NCCL's cost model, as one version of NCCL has them (NVIDIA/nccl, src/graph/tuning.cc). They choose
/// the algorithm; of the cost, only the latencies are taken from here. What a version lacks is zero.
struct Tuning {
  std::string from_version;  ///< the first version that has these constants: "2.28.3"

  ByAlgorithm<Duration> base_latency;     ///< baseLatencies: once
  ByAlgorithm<Duration> nvlink_latency;   ///< hwLatencies: a step over NVLink,
  ByAlgorithm<Duration> pcie_latency;     ///< … over PCIe,
  ByAlgorithm<Duration> network_latency;  ///< … between nodes

  ByArchitecture<ByNodes<BytesPerSecond>> ll_limit;                ///< llMaxBws: bus bandwidth of LL
  ByArchitecture<ByNodes<BytesPerSecond>> ring_ll128_per_channel;  ///< perChMaxRingLL128Bws
  ByArchitecture<ByNodes<BytesPerSecond>> tree_ll128_per_channel;  ///< perChMaxTreeLL128Bws
  ByArchitecture<ByNodes<BytesPerSecond>> tree_per_channel;        ///< perChMaxTreeBws
  ByArchitecture<ByNodes<BytesPerSecond>> nvls_tree_per_channel;   ///< perChMaxNVLSTreeBws; 0 for no limit
  ByArchitecture<double> nvls_efficiency{};
  std::array<std::array<double, 24>, kProtocols> tree_correction{};  ///< treeCorrectionFactor, by log2(bytes / 64)
  Duration net_overhead_intel;
  Duration net_overhead_amd;
  Duration net_overhead_other;

  double ring_ll_share_reducing = 0.5;         ///< of the bus bandwidth: LL on a ring that reduces, or leaves its node,
  double ring_ll_share_copying = 0.5;          ///< … and on others
  double lone_rank_ring_ll128_share = 0;       ///< LL128 on a ring with one rank a node; it is 0.92 with more
  bool lone_rank_has_tree_latency = false;     ///< a network step of one rank a node takes the tree's time
  bool ring_crosses_every_node_twice = false;  ///< 2N steps of an all_reduce count as the network's, not 2(N - 1)
  NvlsModel nvls_model{};
  bool corrects_nvls_tree = false;  ///< tree_correction holds for NVLSTree too, on Blackwell beside x86
  bool has_pat = false;
  bool has_strict_masks = false;  ///< variables that leave nothing are an error; before, a ring ran

  GraphSearch search;

  bool operator==(Tuning const&) const = default;
};

}  // namespace twinstep::hardware

namespace twinstep {
template <>
struct EnumNames<hardware::Algorithm> {
  static constexpr std::array<std::string_view, 11> values{
      "tree", "ring",     "collnet-direct",   "collnet-chain", "nvls", "nvlstree",
      "pat",  "pairwise", "halving-doubling", "binomial",      "naive"};
};
template <>
struct EnumNames<hardware::Protocol> {
  static constexpr std::array<std::string_view, 3> values{"ll", "ll128", "simple"};
};
template <>
struct EnumNames<hardware::NvlsModel> {
  static constexpr std::array<std::string_view, 3> values{"one-ratio", "ratio-of-reductions", "efficiency"};
};
template <>
struct EnumNames<hardware::Architecture> {
  static constexpr std::array<std::string_view, 4> values{"volta", "ampere", "hopper", "blackwell"};
};
}  // namespace twinstep
