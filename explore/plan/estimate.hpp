#pragma once

#include <cstdint>

#include "explore/plan/strategy_terms.hpp"
#include "explore/plan/work_terms.hpp"

namespace twinstep::explore::plan {

/// What a plan comes to in closed form.
struct Estimate {
  Seconds step_time;
  /// That a GPU has to hold when backward begins, or at another moment beside activations: no more than the simulated
  /// peak, but for a per cent. Where activations go to the host, which then also waits, only what lives all the time.
  Bytes least_memory;
  Bytes least_host;  ///< of the host's memory, likewise; without activations
  Bytes least_nvme;
};

/// A pass takes as long as the host needs to launch it, or as its kernels and what they cannot hide:
///
///     exposed + max(compute, inside nodes, between nodes, copies)
///
/// where compute is slower by the SMs that communication holds as long as it runs. An update on drives takes as long as
/// the slowest of read, update and write, and for one sub-group of the optimizer also the other two. Cost: some forty
/// operations.
[[nodiscard]] Estimate estimate(StrategyTerms const& strategy, WorkTerms const& work, std::int64_t micro_batches);

}  // namespace twinstep::explore::plan
