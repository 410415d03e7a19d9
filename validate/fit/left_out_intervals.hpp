#pragma once

#include <span>
#include <string>
#include <vector>

#include "validate/fit/error_bands.hpp"
#include "validate/score/system_scores.hpp"

/// Intervals of predictions for systems that no constant has seen.
namespace twinstep::validate {

/// Deviations of the records that count, each system counting once.
[[nodiscard]] std::vector<LeftOutPoint> left_out_points(std::span<CollectiveRecord const> records,
                                                        std::span<Predictions const> predicted,
                                                        std::vector<bool> const& counted,
                                                        std::string const& without_system = {});

/// The interval of each point, by the deviations of all systems but its own: neither its prediction nor its width has
/// seen it.
[[nodiscard]] std::vector<Intervals> left_out_intervals(std::span<CollectiveRecord const> records,
                                                        std::span<Predictions const> predicted,
                                                        std::vector<bool> const& counted);

}  // namespace twinstep::validate
