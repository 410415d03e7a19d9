#pragma once

#include <string>
#include <vector>

#include "reports/calibration.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/io/document.hpp"
#include "validate/fit/compute_calibration.hpp"
#include "validate/study/profile_patch_text.hpp"
#include "validate/study/study.hpp"

/// A cluster's profile after measurements of it.
namespace twinstep::study {

/// All that was measured, and what it gave.
struct CalibrationOutcome {
  Study study;
  validate::ComputeMeasurements measured;
  std::vector<validate::CalibrationErrors> compute_errors;
  CalibratedProfile profile;
};

/// Calibrates `cluster`, which the user calls `base`, to files of measurements: first to collectives, then to kernels
/// and steps, since a step waits for its collectives. `date` is when. Requires a file. Throws InputError for a file
/// that cannot be read, and where no measurement can be taken.
[[nodiscard]] CalibrationOutcome calibrate(std::string base, hardware::Cluster const& cluster,
                                           std::vector<io::Source> sources, std::string date);

/// What was fitted, what was left out and why, and the errors of the profile before and after. `out` is where the
/// profile is written.
[[nodiscard]] reports::CalibrationReport report_of(CalibrationOutcome const& outcome, std::string const& out);

}  // namespace twinstep::study
