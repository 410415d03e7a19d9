#pragma once

#include <cuda_runtime_api.h>

#include "validate/cuda/device_api.hpp"

namespace twinstep::cuda {

/// Launches the kernel; a failed launch is what cudaGetLastError says afterwards. Where all operands have one type,
/// begin at multiples of 16 bytes and are a multiple of 16 bytes long, each thread moves 16 bytes at a time.
void launch(Kernel const& kernel, cudaStream_t stream);

/// Launches a single thread that looks at the device's clock until `duration` is over.
void launch_delay(Duration duration, cudaStream_t stream);

}  // namespace twinstep::cuda
