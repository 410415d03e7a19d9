#pragma once

#include <vector>

#include "sim/hardware/cluster.hpp"
#include "sim/io/document.hpp"

namespace twinstep::hw_profiles {

/// A whole cluster as the document that reads back as the same cluster, every part inline and every number with its
/// basis and source.
[[nodiscard]] io::Node cluster_document(hardware::Cluster const& cluster);

/// The "calibrations" of a library.
[[nodiscard]] io::Node calibrations_document(std::vector<hardware::CollectiveCalibration> const& calibrations);

}  // namespace twinstep::hw_profiles
