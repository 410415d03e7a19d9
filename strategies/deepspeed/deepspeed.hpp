#pragma once

#include "strategies/parts/data_parallel.hpp"

namespace twinstep::strategies {

[[nodiscard]] std::unique_ptr<DataParallel> make_deepspeed1_2(StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_deepspeed3(StepContext& context);

}  // namespace twinstep::strategies
