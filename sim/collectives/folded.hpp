#pragma once

#include <optional>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/collectives/layout.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/program/kinds.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::collectives {

/// Bytes that the busiest instance of a resource carries.
struct Load {
  ResourceId resource;
  Bytes bytes;
  bool operator==(Load const&) const = default;
};

/// A fixed latency, then a transfer that ends when the slowest of its loads has passed, and takes `least` at least.
struct Phase {
  Duration latency;
  std::vector<Load> loads;
  Duration least;  ///< what the threads that copy need, whatever the links
  bool operator==(Phase const&) const = default;
};

/// A communication folded onto the ranks that are alike: what one of them waits for and what it puts on links.
struct Folded {
  Algorithm algorithm{};
  Protocol protocol = Protocol::kSimple;
  std::int64_t channels = 0;  ///< SMs that it holds while it runs
  bool is_message = false;    ///< loads on links out of nodes are the sender's, on links in the receiver's
  std::vector<Phase> phases;
  Bytes intra;  ///< that leave a rank for another of its node, summed over the ranks of one group
  Bytes inter;  ///< that leave a rank for another node, likewise
};

/// The nearest whole number: of bytes that are reported, while those on links are rounded up.
[[nodiscard]] Bytes nearest_bytes(double bytes);

/// Time of a folded communication alone on the network.
[[nodiscard]] Duration time_alone(Folded const& folded, topology::Topology const& topology);

/// What a user may force, as NCCL_ALGO and NCCL_PROTO do.
struct Forced {
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;
};

/// One collective, asked of the machine's library.
struct Question {
  CollectiveKind kind{};
  Bytes size;  ///< its large side (see program::Collective); of an uneven all_to_all, the largest that a rank sends
  program::Reduction reduction = program::Reduction::kSum;
  DataType type = DataType::kBf16;
  Forced forced;
};

/// Folds one collective: the algorithm and protocol that the library chooses for it (choice.hpp), at what they cost.
/// One rank, or no bytes, costs nothing: no phases.
///
/// All groups of the communicator run at the same time: `Layout::groups_per_node` says how many of them share what
/// the GPUs of a node share. Loads are divided by the efficiency of their traffic, so that resources keep their stated
/// rates. Throws InputError if what is forced does not exist for the collective. Cost O(GPUs of a node), whatever the
/// ranks; O(its square) for pairwise messages.
[[nodiscard]] Folded fold(Question const& question, Layout const& layout, hardware::Cluster const& cluster,
                          topology::Topology const& topology);

/// Folds a collective with everything decided: what `fold` does after its choice. A calibrated library's correction
/// stretches waiting and transfers alike (correction.hpp).
[[nodiscard]] Folded fold_as(FoldRequest const& request);

/// The same by the constants alone: what choices are made by, so that a correction, which is known of the algorithm
/// that was measured only, never changes which one is taken.
[[nodiscard]] Folded fold_uncorrected(FoldRequest const& request);

/// Folds one message between two ranks. A message to itself costs nothing: no phases.
[[nodiscard]] Folded fold_message(Bytes size, RankId from, RankId to, hardware::Cluster const& cluster,
                                  topology::Topology const& topology);

}  // namespace twinstep::collectives
