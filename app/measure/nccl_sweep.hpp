#pragma once

#include <functional>

#include "app/measure/measure.hpp"
#include "validate/measure/collective_sweep.hpp"

namespace twinstep::app {

/// Whether nccl-tests would measure it: a collective of fp32 that is summed. All else runs as a step program.
[[nodiscard]] bool is_benchmark(measure::Exchange const& exchange);

/// A sweep of NCCL exactly as nccl-tests makes it: nothing lies between two launches, where a step program has the
/// events of its spans, a microsecond or two that small sizes would feel. One batch a point; its mean is the time.
/// Calls `begin`, `take` and `finish` in the first process. Gives the exit code that `finish` gives, or 3 for what is
/// absent.
[[nodiscard]] int run_nccl_benchmark(MeasureOptions const& options, measure::CollectiveSweep const& sweep,
                                     std::function<void(measure::Job const&)> const& begin,
                                     std::function<void(measure::SweepRow const&)> const& take,
                                     std::function<int()> const& finish);

}  // namespace twinstep::app
