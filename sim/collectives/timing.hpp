#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/collectives/costs.hpp"

namespace twinstep::collectives {

/// Steps in a row that wait equally long before their bytes flow.
struct StepRun {
  std::int64_t steps = 0;
  Duration latency;  ///< of each
  bool operator==(StepRun const&) const = default;
};

/// When the steps of a schedule may begin, apart from the bytes that they move. The folded cost adds it up; the exact
/// replay waits step by step.
struct Timing {
  Duration launch;             ///< before the first step
  std::vector<StepRun> steps;  ///< together as many as the schedule has, cut into `pieces`
  std::int64_t pieces = 1;     ///< of the pipeline that the schedule is made into (pipeline.hpp)
  [[nodiscard]] Duration total() const;
};

/// `steps` steps that together take `total`: as even as whole picoseconds allow.
[[nodiscard]] std::vector<StepRun> spread(Duration total, std::int64_t steps);

}  // namespace twinstep::collectives
