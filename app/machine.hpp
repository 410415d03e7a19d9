#pragma once

#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"

namespace twinstep::app {

/// The machine that CLUSTER on the command line means: a shipped name, a file, or JSON text of physical facts or of a
/// cluster, with settings such as "cluster.nodes=16" in place of its own values. Throws InputError.
[[nodiscard]] hardware::Cluster read_machine(std::string const& cluster, std::vector<std::string> const& settings);

}  // namespace twinstep::app
