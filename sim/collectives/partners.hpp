#pragma once

#include <cstdint>
#include <span>

#include "sim/collectives/costs.hpp"
#include "sim/collectives/load_sheet.hpp"
#include "sim/collectives/placement.hpp"

/// Steps in which every rank deals with one other rank, some power of two away: what they wait and what they put on
/// links.
namespace twinstep::collectives {

struct PartnerStep {
  std::int64_t distance = 1;  ///< places to the partner
  double bytes = 0;           ///< that every rank sends
  bool is_swap = false;       ///< the two exchange, inside blocks of twice the distance; otherwise each sends onwards
};

/// The latency of one step: inside nodes, or of the tier of switches where nodes that far apart meet.
[[nodiscard]] Duration latency_of(FoldRequest const& request, PartnerStep const& step);

/// What all `steps` together put on links and memory. Where blocks of an exchange do not fit into nodes, a GPU is
/// charged both the partner that it would have inside and the one outside: some node has either.
[[nodiscard]] LoadSheet loads_of(FoldRequest const& request, std::span<PartnerStep const> steps);

/// The ranks, of `ranks` that take part, whose partner sits on their own node.
[[nodiscard]] std::int64_t partners_in_nodes(Placement const& at, PartnerStep const& step, std::int64_t ranks);

}  // namespace twinstep::collectives
