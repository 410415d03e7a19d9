#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "validate/fit/profile_patch.hpp"
#include "validate/records/kernel_record.hpp"

/// The efficiencies of one type of GPU, from kernels and from whole steps that were measured on it.
namespace twinstep::validate {

/// One measured training step, and what a node with other numbers is predicted to take for it.
struct StepSample {
  std::string id;
  Seconds measured;
  std::function<Seconds(hardware::Node const&)> predict;
};

struct ComputeMeasurements {
  std::vector<KernelRecord> kernels;  ///< all of one type of device
  std::vector<StepSample> steps;      ///< likewise
};

/// Errors of one kind of measurement, as parts of the measured times.
struct CalibrationErrors {
  std::string kind;  ///< "gemm", "attention", "elementwise", "copy", "step"
  std::int64_t points = 0;
  double before = 0;               ///< mean |error| with the profile's own numbers
  double fitted = 0;               ///< mean |error| with the fitted ones
  std::optional<double> held_out;  ///< … of points that took no part: every fifth in turn; nothing below ten points
};

struct ComputeCalibration {
  std::vector<FittedNumber> numbers;  ///< paths of a cluster's profile: "node.gpu.efficiency.gemm", "node.pcie", …
  std::vector<CalibrationErrors> errors;
  hardware::Node node;  ///< the prior with the fitted numbers in place
  /// Nine of ten held-out steps, or kernels where there are no steps, lie between these factors of their prediction.
  /// Nothing below ten of them.
  std::optional<hardware::ErrorBand> interval;
};

/// Fits what the measurements determine, robustly, with the profile's values as priors. What decides each number:
///   - gemm, gemm_half_k: GEMMs of several inner sizes;
///   - attention_forward, attention_backward: kernels of each kind; steps alone fix only one factor on both;
///   - memory: memory-bound kernels; with steps alone it stays, as the time of GEMMs and of memory trade off;
///   - kernel_start: the smallest kernels;
///   - node.host.launch: launches;
///   - node.pcie: copies between host and device.
///
/// A number that the data leave open has its reason in `left_out`. The slowdown of kernels beside a collective is
/// reported against what held SMs and shared memory bandwidth give; the model has no factor of its own for it.
/// @param prior  the node whose numbers are fitted; every other number is taken as it is
/// Throws InputError for measurements of several types of device, and for an element type that the GPU has no rate for.
[[nodiscard]] ComputeCalibration calibrate_compute(ComputeMeasurements const& measured, hardware::Node const& prior);

}  // namespace twinstep::validate
