#pragma once

#include <optional>

#include "app/step_replay.hpp"
#include "validate/score/step_score.hpp"

namespace twinstep::app {

class CnnCalibration;

/// What the simulator says about a record: nothing but the reason where it cannot be replayed.
[[nodiscard]] validate::StepAnswer predict_step(validate::StepRecord const& record,
                                                std::optional<hardware::Cluster> const& named,
                                                CnnCalibration const& networks);

/// The time of a replay's optimizer step on its machine. Throws InputError for a plan that does not divide.
[[nodiscard]] Seconds simulated_time(StepReplay const& replay);

}  // namespace twinstep::app
