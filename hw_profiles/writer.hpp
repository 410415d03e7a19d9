#pragma once

#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"

namespace twinstep::hw_profiles {

/// The cluster as one JSON document with node, GPU and fabric inline. `read_cluster` gives back an equal cluster.
[[nodiscard]] std::string cluster_text(hardware::Cluster const& cluster);

/// The JSON array of a library's "calibrations".
[[nodiscard]] std::string calibrations_text(std::vector<hardware::CollectiveCalibration> const& calibrations);

}  // namespace twinstep::hw_profiles
