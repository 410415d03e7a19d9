#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "validate/fit/collective_constants.hpp"
#include "validate/fit/error_bands.hpp"
#include "validate/score/baselines.hpp"
#include "validate/score/system_scores.hpp"

namespace twinstep::validate {

/// What was fitted without one system.
struct LeftOut {
  std::string system;
  std::vector<FittedConstant> fitted;
};

/// By record.
struct LeftOutPredictions {
  std::vector<Predictions> predicted;
  std::vector<Predictions> calibrated;  ///< with two numbers fitted to the system itself (calibrate_system)
  std::vector<Predictions> by_five;     ///< with these two from five points of the record (calibrate_by_five)
};

/// Predicts every record by constants that were fitted to the healthy records of all other systems: nothing of the
/// system that is scored has been seen, and the fit starts from neutral values. One entry for each record, in their
/// order. `make` builds the case of a record on its machine. Runs one fit a system, on as many threads as `jobs` says;
/// the result does not depend on it. `left_out` receives what each fit found, if given.
[[nodiscard]] LeftOutPredictions predict_left_out(std::vector<CollectiveRecord> const& records,
                                                  std::function<CollectiveCase(CollectiveRecord const&)> const& make,
                                                  int jobs, std::vector<LeftOut>* left_out = nullptr);

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
