#pragma once

#include "validate/cuda/device_api.hpp"

namespace twinstep::tests {

/// What every device has to compute, each as a section: products of all layouts and types, memory-bound kernels,
/// copies, delays, and every collective on as many ranks as there are devices, at most 4. Expected numbers come from
/// formulas in double; tolerances from the types' rounding. Call it inside a test case.
void check_kernels(cuda::DeviceApi& device);

}  // namespace twinstep::tests
