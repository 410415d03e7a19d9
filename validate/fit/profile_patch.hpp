#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace twinstep::validate {

/// One number of a cluster's profile as it was fitted, or why it could not be.
struct FittedNumber {
  std::string path;         ///< in the cluster's profile: "node.gpu.efficiency.gemm"
  double value = 0;         ///< in `unit`
  double low = 0;           ///< a standard deviation of the fit below
  double high = 0;          ///< … and above
  std::string unit;         ///< "" for a plain number, else as quantities are spelt: "us", "GB/s"
  std::int64_t points = 0;  ///< measured points that decide it
  std::string left_out;     ///< why the data do not determine it; then it stays as the profile has it
  double before = 0;        ///< what the profile has, in `unit`
};

/// What a calibration found: numbers for a profile, and where they are from.
struct ProfilePatch {
  std::vector<FittedNumber> numbers;
  std::string data_hash;  ///< SHA-256 of the measurements, hexadecimal
  std::string date;       ///< "2026-11-30"
};

}  // namespace twinstep::validate
