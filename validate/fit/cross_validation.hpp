#pragma once

#include <optional>
#include <vector>

#include "validate/fit/collective_calibration.hpp"
#include "validate/score/baselines.hpp"

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

}  // namespace twinstep::validate
