#pragma once

#include <cstdint>

#include "sim/collectives/costs.hpp"
#include "sim/collectives/load_sheet.hpp"
#include "sim/collectives/schedule.hpp"

/// What NVLS and NVLSTree share: an NVSwitch reduces what the ranks of a node hand it, and copies one message to all of
/// them. The buffer is dealt out to heads; rank h, the h-th of its node, is head of part h.
namespace twinstep::collectives {

inline constexpr std::int64_t kMostHeads = 32;  ///< of a node (NVIDIA/nccl, NCCL_MAX_NVLS_ARITY)

/// Heads of a node with `ranks_per_node` ranks.
[[nodiscard]] std::int64_t heads_of(std::int64_t ranks_per_node);

/// Whether no GPU of the group has lost its links to the others of its node. Cost O(ranks of a node) for each node with
/// faults.
[[nodiscard]] bool keeps_gpu_links(Placement const& placement, topology::Topology const& topology);

/// Throws InputError unless the switches of the group's nodes multicast, all its GPUs reach them, and the algorithm
/// fits its number of nodes.
void require_multicast(FoldRequest const& request);

/// Bytes that a channel of a head hands over at a time. NVLS: NCCL_NVLS_CHUNKSIZE, or 128 KiB; at most 64 KiB below 64
/// rounds of all channels and heads, 32 KiB below 8, 16 KiB below 2, each counted with the chunk that the test before
/// left. NVLSTree: NCCL_NVLSTREE_MAX_CHUNKSIZE, or 64 KiB from four nodes on; 256 KiB below 32 rounds, 128 KiB below
/// 16, 64 KiB below 4, 32 KiB below one (NVIDIA/nccl src/transport/nvls.cc; src/enqueue.cc, calcCollChunking).
[[nodiscard]] Bytes multicast_chunk(FoldRequest const& request);

/// The fraction of a port's rate that reaches the switch and comes back: chunks of c bytes move at c / (c + c0) of what
/// the link reaches, and a tree between nodes slows it.
[[nodiscard]] double multicast_efficiency(FoldRequest const& request);

/// How the bytes of a multicast collective flow through the ports of its ranks.
struct MulticastFlow {
  std::int64_t pieces = 1;     ///< of the pipeline
  double seconds_a_piece = 0;  ///< that a port needs for the whole of one
};

/// A piece is what all channels of all heads hand over at a time. The filling of the pipe was measured to take as long
/// as at the link's rate, without what small chunks lose: pieces are counted smaller by that fraction.
[[nodiscard]] MulticastFlow multicast_flow(FoldRequest const& request);

/// From a GPU into the NVSwitch of its node, and back.
void add_to_switch(LoadSheet& sheet, FoldRequest const& request, std::int64_t gpu, double bytes);
void add_from_switch(LoadSheet& sheet, FoldRequest const& request, std::int64_t gpu, double bytes);

}  // namespace twinstep::collectives
