#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <fmt/core.h>

#include "validate/cuda/device_api.hpp"

// What the module's files share: how calls fail, and what the handles of the seam are here.

namespace twinstep::cuda {

inline void check(cudaError_t result, char const* call) {
  if (result != cudaSuccess) throw DeviceError{fmt::format("{}: {}", call, cudaGetErrorString(result))};
}
inline void check(cublasStatus_t result, char const* call) {
  if (result != CUBLAS_STATUS_SUCCESS) throw DeviceError{fmt::format("{}: {}", call, cublasGetStatusString(result))};
}
inline void check(ncclResult_t result, char const* call) {
  if (result != ncclSuccess)
    throw DeviceError{fmt::format("{}: {} ({})", call, ncclGetErrorString(result), ncclGetLastError(nullptr))};
}
#define TWINSTEP_TRY(call) ::twinstep::cuda::check(call, #call)

/// Makes `device` the one that this thread's calls mean.
inline void use_device(int device) {
  thread_local auto current = -1;
  if (current == device) return;
  TWINSTEP_TRY(cudaSetDevice(device));
  current = device;
}

struct CudaStream final : DeviceStream {
  explicit CudaStream(int on) : device{on} {
    use_device(on);
    TWINSTEP_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~CudaStream() override {
    if (blas != nullptr) static_cast<void>(cublasDestroy(blas));
    static_cast<void>(cudaStreamDestroy(stream));
  }
  int device;
  cudaStream_t stream = nullptr;
  cublasHandle_t blas = nullptr;  // made with the first product
};

struct CudaEvent final : DeviceEvent {
  explicit CudaEvent(int on) : device{on} {
    use_device(on);
    TWINSTEP_TRY(cudaEventCreate(&event));
  }
  ~CudaEvent() override { static_cast<void>(cudaEventDestroy(event)); }
  int device;
  cudaEvent_t event = nullptr;
};

inline CudaStream& of(DeviceStream& stream) {
  use_device(static_cast<CudaStream&>(stream).device);
  return static_cast<CudaStream&>(stream);
}
inline CudaEvent const& of(DeviceEvent const& event) {
  return static_cast<CudaEvent const&>(event);
}

}  // namespace twinstep::cuda
