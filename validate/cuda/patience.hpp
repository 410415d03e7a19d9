#pragma once

#include "validate/cuda/device_api.hpp"

namespace twinstep::cuda {

/// Waits for `event`, looking again and again: the host learns of it within microseconds, and never sleeps for ever.
/// Throws DeviceError where it has not happened after `patience`, or the device has failed.
void wait_until_happened(DeviceApi& device, DeviceEvent const& event, Seconds patience = Seconds{60});

}  // namespace twinstep::cuda
