#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validate/fit/compute_calibration.hpp"
#include "validate/fit/compute_fit.hpp"

/// A fit of a node's numbers beside what fits to parts of the measurements say of it.
namespace twinstep::validate {

/// A measured kernel, copy or step in all of its predictions, in seconds.
struct StudiedPoint {
  std::string kind;  ///< as in CalibrationErrors
  double measured = 0;
  double before = 0;               ///< by the prior
  double fitted = 0;               ///< by the fit that saw it
  std::optional<double> held_out;  ///< by the one of five fits that did not; nothing below ten points
};

/// Fits the numbers of `prior` to all kernels that ran alone, copies and steps, and once more without each fifth of
/// them in turn. The prior must outlive it.
class ComputeStudy {
 public:
  ComputeStudy(ComputeMeasurements const& measured, hardware::Node const& prior);

  [[nodiscard]] ComputeFit const& fit() const { return fit_; }
  [[nodiscard]] std::vector<StudiedPoint> const& points() const { return points_; }
  [[nodiscard]] ComputeValues before() const { return values_of(prior_); }

  /// A standard deviation of the logarithm of a number: the jackknife's; without the five fits, that of as many
  /// measurements as decide it.
  [[nodiscard]] double spread(std::size_t number) const;

 private:
  void predict(hardware::Node const& node, double StudiedPoint::*store);
  void hold_out(std::size_t fold);

  ComputeMeasurements sample_;
  hardware::Node const& prior_;
  ComputeFit fit_;
  std::vector<StudiedPoint> points_;
  std::vector<ComputeValues> folds_;
};

}  // namespace twinstep::validate
