#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/fit/collective_calibration.hpp"
#include "validate/fit/collective_constants.hpp"
#include "validate/fit/error_bands.hpp"
#include "validate/score/baselines.hpp"
#include "validate/score/system_scores.hpp"

/// How well a calibration predicts what it has not seen: parts of the measurements are left out and predicted.
namespace twinstep::validate {

/// Predictions of records, one entry for each in their order; nothing for points that took part, or that nothing was
/// left to calibrate by.
struct HeldOut {
  std::vector<Predictions> predicted;
  std::vector<std::vector<std::optional<TimeInterval>>> intervals;
  std::vector<Predictions> baseline;  ///< what is at hand without a model: see each function
};

/// All of these take records that were measured on one cluster and calibrate it anew each time.

/// Not held out: every record by a calibration to itself. The baseline is the line fitted to it.
[[nodiscard]] HeldOut predict_in_sample(std::vector<CollectiveRecord> const& records, MakeCase const& make);

/// Every second size of each record, by the others. The baseline is the line alpha + size / beta through those others.
[[nodiscard]] HeldOut hold_out_sizes(std::vector<CollectiveRecord> const& records, MakeCase const& make);

/// Every collective on every layout, by the records of all others: an extrapolation. The baseline is the profile as it
/// is.
[[nodiscard]] HeldOut hold_out_sweeps(std::vector<CollectiveRecord> const& records, MakeCase const& make);

/// Each record by the measurements of another system on the same kind of machine: the same collective on as many ranks
/// and nodes, with the same GPUs, links and network, and the same algorithm if one was forced; of several, the one with
/// the most points. The baseline is that system's curve.
[[nodiscard]] HeldOut predict_by_twins(std::vector<CollectiveRecord> const& records, MakeCase const& make);

/// Each record but five of its points, by the two numbers that these give (calibrate_by_five). Without intervals. The
/// baseline is the line through the five.
[[nodiscard]] HeldOut hold_out_all_but_five(std::vector<CollectiveRecord> const& records, MakeCase const& make);

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
/// the result does not depend on it. `left_out` receives what each fit found, if given; `tell` hears from any thread
/// how many systems are done, of how many.
[[nodiscard]] LeftOutPredictions predict_left_out(std::vector<CollectiveRecord> const& records,
                                                  std::function<CollectiveCase(CollectiveRecord const&)> const& make,
                                                  int jobs, std::vector<LeftOut>* left_out = nullptr,
                                                  std::function<void(std::size_t, std::size_t)> const& tell = {});

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
