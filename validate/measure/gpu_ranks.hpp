#pragma once

#include <optional>

#include "validate/cuda/connection.hpp"
#include "validate/launch/launch.hpp"
#include "validate/measure/executor.hpp"

namespace twinstep::measure {

/// The ranks of this process, each on a GPU, joined with those of all others. Alone it drives all GPUs unless told how
/// many; one of several drives one. Throws InputError for more than there are, and Absent where there are none.
[[nodiscard]] cuda::Connection connect_gpus(cuda::DeviceApi& device, launch::Launch const& launch,
                                            std::optional<int> gpus);

/// What a job on these GPUs is. Ranks on one host are all of them where the process is alone, or as many as the
/// launcher says; else those of this process.
[[nodiscard]] Job job_on_gpus(cuda::DeviceApi& device, cuda::Connection const& connection,
                              launch::Launch const& launch);

}  // namespace twinstep::measure
