#pragma once

#include <string>

#include "hw_profiles/catalog.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/io/document.hpp"

/// Profiles as the machine that the simulator runs on.
///
/// Every number of a profile is {"value": "450 GB/s", "basis": "datasheet", "source": "where from"}. A scenario that
/// changes a number may write the bare value; it then counts as the scenario's (Basis::kScenario).
namespace twinstep::hw_profiles {

/// Reads what a scenario's "cluster" says: a name, a path, or an object with overrides ("profile", "nodes", "gpu",
/// "node", "fabric", "library", "faults"), or a whole cluster inline. See resolve.hpp for the forms.
/// Throws InputError where the machine is incomplete, contradicts itself, or is larger than its fabric.
[[nodiscard]] hardware::Cluster read_cluster(io::Node const& reference);

/// Reads a cluster by a shipped name or the path of a file, as the command line gives it.
[[nodiscard]] hardware::Cluster read_cluster(std::string const& name_or_path);

[[nodiscard]] hardware::Gpu read_gpu(io::Node const& reference);
[[nodiscard]] hardware::Node read_node(io::Node const& reference);
[[nodiscard]] hardware::Fabric read_fabric(io::Node const& reference);
[[nodiscard]] hardware::Link read_link(io::Node const& reference);
[[nodiscard]] hardware::Transport read_transport(io::Node const& reference);
[[nodiscard]] hardware::Library read_library(io::Node const& reference);

}  // namespace twinstep::hw_profiles
