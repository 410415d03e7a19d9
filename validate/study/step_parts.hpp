#pragma once

#include <string>
#include <vector>

#include "explore/ask/software.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"
#include "validate/records/step_record.hpp"

/// The parts of a replay, by the words and numbers of a step record.
namespace twinstep::study {

/// Left by whatever finds that a record cannot be replayed.
struct Impossible {
  std::string reason;
};

/// The model that a step record describes. A CNN is a published one, by its name. Of a transformer a record does not
/// say everything: gated or plain MLP, tied or separate embeddings and learned or rotary positions are taken as the
/// record states them, else so that the number of parameters comes nearest to the record's. Throws Impossible where it
/// is neither, or lacks a size.
[[nodiscard]] strategies::ModelSpec model_of(validate::StepModel const& model);

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
