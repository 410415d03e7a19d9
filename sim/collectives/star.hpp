#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/costs.hpp"
#include "sim/collectives/load_sheet.hpp"
#include "sim/collectives/timing.hpp"

/// A root and everyone else: what its links carry. The root is GPU 0's rank of the first node; it has the busiest
/// links, and only they are charged.
namespace twinstep::collectives {

/// A phase begins or ends at the root.
enum class Direction : std::uint8_t { kToRoot, kFromRoot };

/// `bytes` between the root and the i-th rank of its node, and between the root and each rank of other nodes.
void add_star_inside(LoadSheet& sheet, FoldRequest const& request, std::int64_t i, double bytes, Direction direction);
void add_star_outside(LoadSheet& sheet, FoldRequest const& request, double bytes, Direction direction);

/// The root's steps when it deals with one rank after the other: its own node first, then ever farther ones.
[[nodiscard]] std::vector<StepRun> star_steps(FoldRequest const& request);

/// Bytes through uplinks where `senders` ranks of each node, or of one node only, send `bytes` to every rank. Of what
/// a rank sends to other nodes, the part for nodes of its own switch group turns round below them; on a rail-optimised
/// leaf only if it goes to the same rail.
void add_peer_tiers(LoadSheet& sheet, FoldRequest const& request, double bytes, std::int64_t senders, bool is_one_node);

}  // namespace twinstep::collectives
