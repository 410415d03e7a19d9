#include "validate/cuda/patience.hpp"

#include <chrono>
#include <thread>

#include <fmt/core.h>

namespace twinstep::cuda {

void wait_until_happened(DeviceApi& device, DeviceEvent const& event, Seconds patience) {
  using Clock = std::chrono::steady_clock;
  auto const give_up = Clock::now() + std::chrono::duration<double>{patience.count()};
  while (!device.has_happened(event)) {
    if (Clock::now() > give_up)
      throw DeviceError{
          fmt::format("what was enqueued has not ended after {} s: a rank of the job is gone, or the GPU "
                      "hangs",
                      patience.count())};
    std::this_thread::yield();
  }
}

}  // namespace twinstep::cuda
