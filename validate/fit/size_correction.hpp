#pragma once

#include <span>
#include <vector>

#include "sim/hardware/library.hpp"

/// What is left between measurements and constants, as a smooth factor by size.
namespace twinstep::validate {

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

}  // namespace twinstep::validate
