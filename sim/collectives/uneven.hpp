#pragma once

#include "sim/base/units.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/collectives/load_sheet.hpp"

namespace twinstep::collectives {

/// What an uneven all_to_all puts on links, and the bytes that leave ranks inside nodes and between them.
struct UnevenLoads {
  LoadSheet sheet;
  Bytes inside;
  Bytes outside;
};

/// Charges every resource what its busiest instance carries under the request's splits: of all nodes' GPUs at a place
/// the busiest port and NIC, in either direction, and of a tier's switches the busiest. Other groups of the
/// communicator count as split alike. Requires splits for as many ranks as there are. Cost O(ranks²).
[[nodiscard]] UnevenLoads uneven_loads(FoldRequest const& request);

}  // namespace twinstep::collectives
