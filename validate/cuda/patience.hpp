#pragma once

#include <chrono>
#include <thread>

#include <fmt/core.h>

#include "validate/cuda/device_api.hpp"

namespace twinstep::cuda {

/// Waits for `event`, looking again and again: the host learns of it within microseconds, and never sleeps for ever.
/// Throws DeviceError where it has not happened after `patience`, or the device has failed.
inline void wait_until_happened(DeviceApi& device, DeviceEvent const& event,
                                std::chrono::seconds patience = std::chrono::seconds{60}) {
  auto const give_up = std::chrono::steady_clock::now() + patience;
  while (!device.has_happened(event)) {
    if (std::chrono::steady_clock::now() > give_up)
      throw DeviceError{
          fmt::format("what was enqueued has not ended after {} s: a rank of the job is gone, or the GPU "
                      "hangs",
                      patience.count())};
    std::this_thread::yield();
  }
}

}  // namespace twinstep::cuda
