#pragma once

#include <span>
#include <vector>

#include "validate/score/baselines.hpp"
#include "validate/score/collective_case.hpp"

namespace twinstep::validate {

/// Fits two numbers to the healthy points of one system: a time that every call takes longer, and how efficient what
/// carries the bytes is, the NICs between nodes or, where no record leaves its node, the links inside. Gives what is
/// predicted with them, one entry for each case. Everything else stays as the cases have it. Not a prediction of these
/// points: what little calibration does for a machine.
[[nodiscard]] std::vector<Predictions> calibrate_system(std::span<CollectiveCase* const> cases);

/// Five points of a record, evenly spread over its sizes; fewer if it has not more than five.
[[nodiscard]] std::vector<std::size_t> five_points(CollectiveRecord const& record);

/// The same two numbers from five points of one record (five_points), for its other points.
[[nodiscard]] Predictions calibrate_by_five(CollectiveCase& one);

}  // namespace twinstep::validate
