#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "validate/fit/collective_constants.hpp"

namespace twinstep::validate {

/// A constant of one cluster as its own measurements have it.
struct SystemConstant {
  Constant const* constant = nullptr;
  double value = 0;         ///< as Constant::set takes it
  double before = 0;        ///< what the profile has, likewise
  double spread = 0;        ///< a standard deviation, in logarithms
  std::int64_t points = 0;  ///< measured points that change with it
  std::string left_out;     ///< why it stays as the profile has it; "" where it was fitted
};

/// Fits the constants of one cluster to the records of `cases`, which all ran on it. Each starts from what the profile
/// has and is held near it as closely as clusters of its kind resemble each other, so that five points fit two
/// constants. A constant to which the measurements leave more than six tenths of that doubt stays as it was. Gives
/// every constant that the profile has and on which a case depends; leaves the cases with what was fitted.
///
/// Pairs with one GPU a node say nothing about the efficiency of NICs that all GPUs of a node share: it is not fitted
/// where no other record leaves a node.
[[nodiscard]] std::vector<SystemConstant> fit_system(std::span<CollectiveCase*> cases);

/// Sets what was fitted.
void apply_calibration(std::span<SystemConstant const> fitted, hardware::Cluster& cluster);

// What is left between measurements and constants, as a smooth factor by size.

/// A measured point beside its cost by the constants.
struct Deviation {
  Bytes size;
  hardware::Algorithm algorithm{};  ///< that the point was done by
  hardware::Protocol protocol{};
  double factor = 1;     ///< by which the cost of the devices would have to be longer
  double certainty = 1;  ///< how much of a change of that cost is seen: 0 where the host hides it, up to 1
};

/// A factor for each algorithm and protocol that occurs: straight over the logarithm of the size between knots that lie
/// two octaves apart or more. The knots lie near the points (robust, so that one outlier does not carry them), near
/// each other, and near 1 where few points say otherwise.
[[nodiscard]] std::vector<hardware::SizeCorrection> fit_size_corrections(std::span<Deviation const> deviations);

/// For each point, the logarithm of what is left of its deviation by a correction fitted to all points but those of its
/// size. Cost: a fit for each point.
[[nodiscard]] std::vector<double> left_out_deviations(std::span<Deviation const> deviations);

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
