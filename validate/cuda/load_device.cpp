#include "validate/cuda/load_device.hpp"

#include <dlfcn.h>
#include <filesystem>

#include <fmt/format.h>

namespace twinstep::cuda {

std::unique_ptr<DeviceApi> load_device() {
  auto error = std::error_code{};
  auto const program = std::filesystem::read_symlink("/proc/self/exe", error);
  auto const module = program.parent_path() / "libtwinstep_cuda.so";
  if (!std::filesystem::exists(module, error))
    throw Absent{
        "found no GPU support: this program was built without CUDA and NCCL; install them and configure with "
        "-DTWINSTEP_WITH_CUDA=ON"};
  // Never closed: the libraries have threads of their own until the process ends.
  auto* const library = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* const make = library == nullptr ? nullptr : dlsym(library, "twinstep_make_device");
  if (make == nullptr)
    throw Absent{fmt::format("found no GPU libraries ({}); install the CUDA runtime and NCCL", dlerror())};
  auto device = std::unique_ptr<DeviceApi>{reinterpret_cast<DeviceApi* (*)()>(make)()};
  static_cast<void>(device->device_count());
  return device;
}

}  // namespace twinstep::cuda
