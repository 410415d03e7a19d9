#pragma once

#include <cstdint>

#include "sim/base/collective_kind.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/placement.hpp"
#include "sim/collectives/splits.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::collectives {

using hardware::Algorithm;
using hardware::Protocol;

/// One collective to cost. Has more than one rank and more than no bytes.
struct FoldRequest {
  CollectiveKind kind{};
  Bytes size;  ///< S, the large side
  Placement const& placement;
  hardware::Cluster const& cluster;
  topology::Topology const& topology;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::int64_t channels = 1;  ///< thread blocks, and so SMs, that it runs on
  Splits splits = {};         ///< in bytes, of an uneven all_to_all; `size` is then the largest that a rank sends
};

/// What a byte costs: the fraction of the links' rates that a collective's bytes reach.
struct Efficiency {
  double inside = 1;   ///< over links inside nodes
  double outside = 1;  ///< over NICs and what lies behind them
};

/// How the bytes of a collective move, where links treat them differently.
enum class Traffic : std::uint8_t {
  kNeighbours,  ///< ring and tree: every rank with one or two others
  kPeers,       ///< every rank with all others
  kMulticast    ///< the switch reduces and copies
};

/// The fraction of the links' rates that this collective reaches, protocol included.
[[nodiscard]] Efficiency efficiency_of(FoldRequest const& request, Traffic traffic);

/// Before the first step: the kernel's start and the algorithm's base latency (NVIDIA/nccl src/graph/tuning.cc,
/// baseLatencies), scaled by the protocol's latency factor.
[[nodiscard]] Duration launch_latency(FoldRequest const& request);

/// The host's part of a network step (NVIDIA/nccl src/graph/tuning.cc, getNetOverhead); Simple pays it three times.
[[nodiscard]] Duration network_overhead(hardware::Cluster const& cluster, Protocol protocol);

/// A step between ranks of one node (hwLatencies, NVLINK or PCI; where there are several nodes, at least the network's
/// overhead on the host).
[[nodiscard]] Duration inside_step(FoldRequest const& request);

/// What a rank's processor handles one after another in a step: 1, or as a library without a choice says of its way.
[[nodiscard]] std::int64_t messages_per_step(FoldRequest const& request);

/// A step between nodes that meet at tier `level` >= 1: the library's own (hwLatencies, NET), what the transport adds
/// for each message, and the switches.
[[nodiscard]] Duration between_step(FoldRequest const& request, std::size_t level);

/// The least time in which `bytes` over each link pass, whatever the links: LL is bound by its threads (llMaxBws).
[[nodiscard]] Duration least_time(FoldRequest const& request, double bytes);

}  // namespace twinstep::collectives
