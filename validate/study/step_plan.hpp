#pragma once

#include <string>
#include <vector>

#include "explore/ask/software.hpp"
#include "strategies/plan/plan.hpp"
#include "validate/records/step_record.hpp"

/// The words of a step record as a plan.
namespace twinstep::study {

/// Left by whatever finds that a record cannot be replayed.
struct Impossible {
  std::string reason;
};

/// What runs the record's step.
[[nodiscard]] explore::Software software_of(validate::StepRecord const& record);

struct StepPlan {
  strategies::Plan plan;
  std::vector<std::string> near_to;  ///< what is replayed by something near
  std::vector<std::string> assumed;  ///< what the record does not say and the replay takes
};

/// Throws Impossible.
[[nodiscard]] StepPlan plan_of(validate::StepRecord const& record);

}  // namespace twinstep::study
