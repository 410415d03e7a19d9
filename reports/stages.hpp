#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/memory.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::reports {

/// What one stage of a pipeline comes to: its track that ends last, and that which holds most.
struct StageSummary {
  std::string name;                  ///< of the role
  std::int64_t ranks = 0;            ///< that play it
  Duration compute;                  ///< kernels run
  Duration exposed;                  ///< communications run, and no kernel does
  Duration waits_for_stages;         ///< … or wait for a neighbouring stage
  Duration waits_for_ranks;          ///< … or for other ranks
  MemoryPeak peak;                   ///< of what is allocated on the device
  Bytes reserved;                    ///< most in use on the device, with the allocator's cache
  std::vector<program::Pass> drawn;  ///< what kernels were for most of each equal part of the step; kNone: nothing
};

/// The stages of a step in the order of their ranks; none where all ranks do the same. Cost: a sort of the spans.
[[nodiscard]] std::vector<StageSummary> stages_of(timeline::Timeline const& timeline);

/// The stage that holds most. Requires one at least.
[[nodiscard]] StageSummary const& fullest_stage(std::vector<StageSummary> const& stages);

}  // namespace twinstep::reports
