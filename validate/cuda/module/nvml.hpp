#pragma once

#include <optional>
#include <string>

#include "validate/cuda/device_api.hpp"

namespace twinstep::cuda {

/// The health of the GPU on a PCI bus ("0000:3b:00.0") by NVML, which is part of the driver and loaded when first
/// asked; nothing where there is none, or it does not answer.
[[nodiscard]] std::optional<DeviceHealth> health_by_nvml(std::string const& bus);

}  // namespace twinstep::cuda
