#pragma once

#include <string>
#include <vector>

#include "reports/accuracy.hpp"
#include "sim/base/units.hpp"

namespace twinstep::reports {

/// What a calibration of a cluster found.
struct CalibrationReport {
  struct Number {
    std::string path;
    std::string unit;  ///< of the three below; "" for plain numbers
    double before = 0;
    double value = 0;
    double spread = 0;  ///< a standard deviation
    std::int64_t points = 0;
    std::string left_out;  ///< why it stays as it was
  };
  struct Sweep {
    std::string collective;
    std::int64_t ranks = 1;
    std::int64_t nodes = 1;
    Bytes smallest;
    Bytes largest;
  };
  /// Kernels of one kind, or steps: mean errors.
  struct Kernels {
    std::string kind;
    std::int64_t points = 0;
    double before = 0;
    double fitted = 0;
    std::optional<double> held_out;  ///< of points that took no part
  };
  std::string cluster;
  std::string out;
  std::string calibration;
  std::string data_hash;
  std::vector<Number> numbers;
  std::vector<Sweep> sweeps;  ///< with a correction by size
  std::vector<Kernels> kernels;
  std::vector<std::string> skipped;
  Accuracy accuracy;  ///< errors of the calibration, in sample and held out, beside what it has to beat
};

/// {"cluster", "out", "calibration", "data_sha256", "numbers", "sweeps", "predictors", "kernels", "skipped"}.
[[nodiscard]] std::string calibration_json(CalibrationReport const& report);

}  // namespace twinstep::reports
