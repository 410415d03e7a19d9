#pragma once

#include <memory>

#include "validate/cuda/device_api.hpp"

namespace twinstep::cuda {

/// The GPUs of this machine through CUDA and NCCL. They live in a module beside the program that is loaded here, so
/// that nothing else waits for the libraries or needs them. Throws Absent where the module was not built, where the
/// libraries are not installed, and where there is no GPU.
[[nodiscard]] std::unique_ptr<DeviceApi> load_device();

}  // namespace twinstep::cuda
