#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "validate/fit/profile_patch.hpp"

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

}  // namespace twinstep::study
