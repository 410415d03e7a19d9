#include "validate/cuda/load_device.hpp"

#include "sim/base/module.hpp"

namespace twinstep::cuda {

std::unique_ptr<DeviceApi> load_device() {
  auto* const make_device = function_of<DeviceApi*()>({.file = "libtwinstep_cuda.so",
                                                       .function = "twinstep_make_device",
                                                       .is_for = "GPU support",
                                                       .packages = "the CUDA runtime and NCCL"});
  auto device = std::unique_ptr<DeviceApi>{make_device()};
  static_cast<void>(device->device_count());
  return device;
}

}  // namespace twinstep::cuda
