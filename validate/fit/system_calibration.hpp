#pragma once

#include <span>
#include <vector>

#include "validate/score/baselines.hpp"
#include "validate/score/collective_case.hpp"

namespace twinstep::validate {

/// Fits two numbers to the healthy points of one system: a time that every call takes longer, and the efficiency of
/// its NICs. Gives what is predicted with them, one entry for each case. Everything else stays as the cases have it.
/// Not a prediction of these points: what little calibration does for a machine.
[[nodiscard]] std::vector<Predictions> calibrate_system(std::span<CollectiveCase* const> cases);

}  // namespace twinstep::validate
