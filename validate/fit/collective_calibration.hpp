#pragma once

#include <functional>
#include <string>
#include <vector>

#include "validate/fit/system_fit.hpp"

namespace twinstep::validate {

/// What measured sweeps of one cluster say about it.
struct Calibration {
  std::vector<SystemConstant> constants;
  std::vector<hardware::CollectiveCalibration> sweeps;  ///< one for each collective and layout
};

using MakeCase = std::function<CollectiveCase(CollectiveRecord const&)>;

/// How far to go.
enum class Depth : std::uint8_t {
  kConstants,   ///< the physical constants alone
  kCorrections  ///< what remains by size too, and intervals
};

/// Calibrates one cluster to records that were all measured on it, in two steps: first its constants (fit_system), then
/// what remains, as a smooth factor by size for each collective, layout, algorithm and protocol (fit_size_corrections),
/// with intervals from what it misses at sizes left out. `make` builds the case of a record on the cluster as it was
/// before. Send and receive have no factor by size. `source` says in the profile what was measured.
[[nodiscard]] Calibration calibrate(std::vector<CollectiveRecord> const& records, MakeCase const& make, Depth depth,
                                    std::string const& source = "measured sweeps");

/// Gives a cluster all that was found.
void apply_calibration(Calibration const& calibration, hardware::Cluster& cluster);

}  // namespace twinstep::validate
