#pragma once

#include <string>

#include "sim/hardware/cluster.hpp"

/// Whether something can have been measured on a machine at all, by what its record says of itself: sentences without
/// the name of the record; nothing where both agree, or where either side does not say.
namespace twinstep::validate {

/// That `machine` runs another collective library; kernels of a CPU count as Gloo's.
[[nodiscard]] std::string other_library(std::string const& library, hardware::Cluster const& machine);

/// That its GPUs are of another model than `device` names: "NVIDIA H100 80GB HBM3".
[[nodiscard]] std::string other_device(std::string const& device, hardware::Cluster const& machine);

}  // namespace twinstep::validate
