#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "validate/cuda/device_api.hpp"
#include "validate/launch/launch.hpp"
#include "validate/measure/executor.hpp"

/// The executors on a real clock. Each call waits for all processes of the job.
namespace twinstep::measure {

/// Makes this process's executor. Throws InputError naming who does not come.
using MakeExecutor = std::function<std::unique_ptr<Executor>(launch::Launch const& launch)>;

/// CPUs: one rank a process, which computes with BLAS and moves data with Gloo over TCP. Both are in a module, loaded
/// here; throws Absent without it.
[[nodiscard]] MakeExecutor load_gloo();

/// GPUs: CUDA, cuBLAS and NCCL through `device`. A process alone has all GPUs of its host, or the first `gpus`; one of
/// several has one. Throws Absent without GPU, cuda::DeviceError where one fails, InputError for more than there
/// are.
[[nodiscard]] std::unique_ptr<Executor> nccl_executor(std::unique_ptr<cuda::DeviceApi> device,
                                                      launch::Launch const& launch, std::optional<int> gpus);

}  // namespace twinstep::measure
