#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/calibration.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/io/document.hpp"
#include "validate/fit/compute_calibration.hpp"
#include "validate/fit/profile_patch.hpp"
#include "validate/study/study.hpp"

/// A cluster's profile after measurements of it.
namespace twinstep::study {

/// What a calibrated profile is made of.
struct CalibratedProfile {
  std::string base;              ///< CLUSTER as the user named it
  hardware::Cluster before;      ///< that it means
  validate::ProfilePatch patch;  ///< numbers by their paths
  std::vector<hardware::CollectiveCalibration> sweeps;
  std::vector<std::string> systems;               ///< whose measurements were fitted
  std::string calibration;                        ///< what was fitted on what and when
  std::optional<hardware::ErrorBand> step_error;  ///< where steps lie about their prediction, if enough was measured
};

/// A cluster's profile that names `base` and overrides only what was fitted. A `base` that is JSON text, which another
/// file cannot name, is written out as a whole, with the same numbers overridden. Where `base` is a file, it is named
/// as seen from the folder of `out`. Throws InputError where `base` is no cluster.
[[nodiscard]] std::string profile_patch_text(CalibratedProfile const& profile, std::string const& out);

/// All that was measured, and what it gave.
struct CalibrationOutcome {
  Study study;
  validate::ComputeMeasurements measured;
  std::vector<validate::CalibrationErrors> compute_errors;
  CalibratedProfile profile;
};

/// Calibrates `cluster`, which the user calls `base`, to files of measurements: first to collectives, then to kernels
/// and steps, since a step waits for its collectives. `date` is when; `told_ranks` took part where nothing in a log
/// says how many. Requires a file. Throws InputError for a file that cannot be read, and where no measurement can be
/// taken.
[[nodiscard]] CalibrationOutcome calibrate(std::string base, hardware::Cluster const& cluster,
                                           std::vector<io::Source> sources, std::string date,
                                           std::optional<std::int64_t> told_ranks = {});

/// What was fitted, what was left out and why, and the errors of the profile before and after. `out` is where the
/// profile is written.
[[nodiscard]] reports::CalibrationReport report_of(CalibrationOutcome const& outcome, std::string const& out);

}  // namespace twinstep::study
