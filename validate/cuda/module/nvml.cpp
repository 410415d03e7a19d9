#include "validate/cuda/module/nvml.hpp"

#include <dlfcn.h>

namespace twinstep::cuda {
namespace {

// Signatures and constants: NVML API reference (nvml.h), which toolkits do not always bring.
using Device = struct NvmlDevice*;
constexpr int kSuccess = 0;
constexpr int kMultiprocessorClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuSensor = 0;

struct Reason {
  unsigned long long bit;
  char const* words;
};
// nvmlClocksThrottleReason*; idling (1) and clocks that somebody set (2, 0x10, 0x100) hold nothing back by surprise.
constexpr Reason kReasons[] = {{0x4, "a power cap"},
                               {0x8, "a slowdown by hardware"},
                               {0x20, "heat (by software)"},
                               {0x40, "heat (by hardware)"},
                               {0x80, "a power brake"}};

template <class Function>
Function* find(void* library, char const* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

struct Nvml {
  Nvml() {
    auto* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    auto* const init = find<int()>(library, "nvmlInit_v2");
    by_bus = find<int(char const*, Device*)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
    clock = find<int(Device, int, unsigned*)>(library, "nvmlDeviceGetClockInfo");
    temperature = find<int(Device, int, unsigned*)>(library, "nvmlDeviceGetTemperature");
    reasons = find<int(Device, unsigned long long*)>(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    is_usable = init != nullptr && by_bus != nullptr && clock != nullptr && temperature != nullptr &&
                reasons != nullptr && init() == kSuccess;
  }
  int (*by_bus)(char const*, Device*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  bool is_usable = false;
};

}  // namespace

std::optional<DeviceHealth> health_by_nvml(std::string const& bus) {
  static auto const nvml = Nvml{};
  auto device = Device{};
  if (!nvml.is_usable || nvml.by_bus(bus.c_str(), &device) != kSuccess) return std::nullopt;
  auto multiprocessor = 0U;
  auto memory = 0U;
  auto celsius = 0U;
  auto bits = 0ULL;
  if (nvml.clock(device, kMultiprocessorClock, &multiprocessor) != kSuccess ||
      nvml.clock(device, kMemoryClock, &memory) != kSuccess ||
      nvml.temperature(device, kGpuSensor, &celsius) != kSuccess || nvml.reasons(device, &bits) != kSuccess)
    return std::nullopt;
  auto health = DeviceHealth{
      .multiprocessor_clock_mhz = multiprocessor, .memory_clock_mhz = memory, .temperature_celsius = celsius};
  for (auto const& [bit, words] : kReasons)
    if ((bits & bit) != 0) health.throttled_by.emplace_back(words);
  return health;
}

}  // namespace twinstep::cuda
