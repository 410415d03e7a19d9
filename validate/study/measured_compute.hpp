#pragma once

#include <string>
#include <vector>

#include "sim/io/document.hpp"
#include "validate/fit/compute_calibration.hpp"

namespace twinstep::study {

/// Files of measurements by what they hold.
struct MeasurementFiles {
  std::vector<io::Source> sweeps;  ///< of collectives
  std::vector<io::Node> kernels;   ///< kernels and copies
  std::vector<io::Node> steps;     ///< training steps
};

/// Tells them by their content: a record with "parallelism" is a step, one with another "measurement" a kernel, and
/// everything else, text logs included, sweeps. Throws InputError for an array that is no JSON.
[[nodiscard]] MeasurementFiles sort_by_content(std::vector<io::Source> files);

/// The kernels and steps of these files. Kernels of another library, and a step that cannot be replayed on `cluster`,
/// are left out, with the reason in `skipped`; of kernels of another GPU `warnings` tells.
[[nodiscard]] validate::ComputeMeasurements read_compute(MeasurementFiles const& files,
                                                         hardware::Cluster const& cluster,
                                                         std::vector<std::string>& skipped,
                                                         std::vector<std::string>& warnings);

}  // namespace twinstep::study
