#pragma once

#include <array>
#include <string>
#include <string_view>

#include "sim/hardware/cluster.hpp"

namespace twinstep::explore::plan {

/// What a message crosses between a GPU and the fabric, as scenarios name it: the slowest of them binds all.
inline constexpr auto kWayOutOfNode =
    std::array<std::string_view, 3>{"cluster.node.nic", "cluster.fabric.port", "cluster.node.pcie"};

/// "out of its node a GPU has 100.0 GB/s by cluster.node.nic and 50.0 GB/s by cluster.fabric.port; the slowest binds".
/// Empty for a node without a network.
[[nodiscard]] std::string what_binds_out_of_node(hardware::Cluster const& cluster);

}  // namespace twinstep::explore::plan
