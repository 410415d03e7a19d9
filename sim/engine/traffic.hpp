#pragma once

#include <span>
#include <vector>

#include "sim/engine/flow_clock.hpp"
#include "sim/engine/transfers.hpp"
#include "sim/program/projection.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::engine {

/// When the bytes of a step's transfers left its ranks, by cell, then by time.
///
/// The bytes of a collective count in equal parts for the ranks of its group, those of a message for its sender. They
/// leave while the transfer's phases flow, at the speeds that the network gave them; where nothing flows (message by
/// message, or in closed form) evenly from its start to its end. Of several phases each sends in proportion to what it
/// puts on its busiest link of that kind. Cost: O(log of it) for each stretch of even speed and each cell.
[[nodiscard]] std::vector<timeline::Traffic> traffic_of(Transfers const& transfers, program::Projection const& cells,
                                                        topology::Topology const& topology,
                                                        std::span<SpeedChange const> changes);

}  // namespace twinstep::engine
