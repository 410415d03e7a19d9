#pragma once

#include "strategies/parts/data_parallel.hpp"

namespace twinstep::strategies {

[[nodiscard]] std::unique_ptr<DataParallel> make_naive(StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_zero1(StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_zero2(StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_zero3(StepContext& context);

}  // namespace twinstep::strategies
