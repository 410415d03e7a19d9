#include "sim/collectives/timing.hpp"

namespace twinstep::collectives {

Duration Timing::total() const {
  auto sum = launch;
  for (auto const& run : steps) sum += run.latency * run.steps;
  return sum;
}

std::vector<StepRun> spread(Duration total, std::int64_t steps) {
  if (steps <= 0) return {};
  auto const each = total / steps;
  auto const longer = (total - each * steps).count();  // steps that take a picosecond more
  if (longer == 0) return {{steps, each}};
  return {{longer, each + Duration{1}}, {steps - longer, each}};
}

}  // namespace twinstep::collectives
