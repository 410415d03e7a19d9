#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/collectives/layout.hpp"
#include "sim/engine/fidelity.hpp"

namespace twinstep::engine {

/// What the busiest link of one kind did during a collective.
struct LinkUse {
  std::string kind;  ///< "nvlink", "nic", "leaf uplink", …
  bool is_inter_node = false;
  Bytes bytes;             ///< as a load, efficiency included: bytes over bandwidth is busy time
  double utilisation = 0;  ///< busy time over the collective's; 0 to 1
};

struct CollectiveResult {
  Duration time;
  std::int64_t messages = 0;   ///< 0 unless exact
  std::int64_t events = 0;     ///< likewise
  Bytes intra;                 ///< that leave a rank for another of its node, of one group
  Bytes inter;                 ///< that leave a rank for another node, of one group
  std::vector<LinkUse> links;  ///< in the order of the topology
};

/// Runs one collective of a whole communicator, alone on the machine: every group of it at once.
///
/// `layout` is that of the request's placement. Exact: the groups that share its nodes (Layout::groups_per_node), and
/// those on the nodes between its own, run message by message and the slowest counts. Cost O(messages × resources of
/// each), memory O(ranks × lanes + resources of the nodes). Folded and closed agree, since nothing else runs.
[[nodiscard]] CollectiveResult run_collective(collectives::FoldRequest const& request,
                                              collectives::Layout const& layout, Fidelity fidelity);

}  // namespace twinstep::engine
