#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/hardware/cluster.hpp"

/// What arguments of several subcommands mean.
namespace twinstep::app {

/// The machine that CLUSTER on the command line means: a shipped name, a file, or JSON text of physical facts or of a
/// cluster, with settings such as "cluster.nodes=16" in place of its own values. Throws InputError.
[[nodiscard]] hardware::Cluster read_machine(std::string const& cluster, std::vector<std::string> const& settings);

/// The smallest and the largest size of a sweep, as nccl-tests' options -b and -e spell them: "8", "64K", "128M", "16G"
/// with K = 1024. Throws InputError for anything else, zero too, and where the first is the larger.
[[nodiscard]] std::pair<Bytes, Bytes> read_sizes(std::string const& smallest, std::string const& largest);

}  // namespace twinstep::app
