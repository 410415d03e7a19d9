#pragma once

#include <cstdint>

#include "sim/base/units.hpp"
#include "sim/collectives/placement.hpp"
#include "sim/collectives/tuner/environment.hpp"
#include "sim/hardware/cluster.hpp"

namespace twinstep::collectives::tuner {

/// Channels of one pattern as NCCL's search finds them, each at one rate. No channels: the pattern does not exist here.
struct Channels {
  std::int64_t count = 0;
  BytesPerSecond within_nodes;   ///< bwIntra: of one channel
  BytesPerSecond between_nodes;  ///< bwInter
  bool operator==(Channels const&) const = default;
};

/// What the tuner has to know of one communicator's machine: NCCL prints the same as "Pattern …" with
/// NCCL_DEBUG_SUBSYS=GRAPH.
struct Graph {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;              ///< NVLink domains, where a rack is one
  std::int64_t ranks_per_node = 1;     ///< on the fullest node
  bool is_nvlink = false;              ///< the ranks of a node reach each other over NVLink
  bool has_multicast = false;          ///< through an NVSwitch that reduces and multicasts
  bool has_network_reduction = false;  ///< SHARP, which only the user can know (NCCL_COLLNET_ENABLE)
  bool rings_are_alike = false;        ///< sameChannels: every ring has the GPUs in the same order
  Channels ring;
  Channels tree;
  Channels nvls;               ///< one for each head
  Duration network_latency;    ///< latencyInter: what the network plugin states
  std::int64_t channels = 1;   ///< of the communicator's rings and trees, after doubling and limits
  std::int64_t nvls_ctas = 0;  ///< channels of NVLS and NVLSTree
  bool operator==(Graph const&) const = default;
};

/// The graph of the communicator that `placement` describes. Follows the search's lists of speeds, its duplication and
/// its limits on a switch or on PCIe; a mesh counts as a switch whose channels are no faster than one of its links,
/// which is what NCCL finds on four GPUs with NVLink and on the cube mesh. GPUs that only reach each other through host
/// memory are taken to stand on two sockets. A library without a tuner finds no channels. Cost O(speeds).
[[nodiscard]] Graph find_graph(Placement const& placement, hardware::Cluster const& cluster,
                               Environment const& environment);

}  // namespace twinstep::collectives::tuner
