#pragma once

#include <optional>

#include "validate/score/step_score.hpp"
#include "validate/study/step_replay.hpp"

namespace twinstep::study {

class CnnCalibration;

/// What the simulator says about a record: nothing but the reason where it cannot be replayed.
[[nodiscard]] validate::StepAnswer predict_step(validate::StepRecord const& record,
                                                std::optional<hardware::Cluster> const& named,
                                                CnnCalibration const& networks);

/// The time of an optimizer step. Throws InputError for a plan that does not divide.
[[nodiscard]] Seconds simulated_time(explore::Scenario const& scenario);

}  // namespace twinstep::study
