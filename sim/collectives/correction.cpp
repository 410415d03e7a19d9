#include "sim/collectives/correction.hpp"

#include <algorithm>
#include <cmath>

namespace twinstep::collectives {
namespace {

using hardware::CollectiveCalibration;
using hardware::SizeCorrection;

double logarithm_of(Bytes size) {
  return std::log2(static_cast<double>(std::max(std::int64_t{1}, size.count())));
}

double doublings(std::int64_t from, std::int64_t to) {
  return std::abs(std::log2(static_cast<double>(to) / static_cast<double>(from)));
}

}  // namespace

double factor_at(SizeCorrection const& correction, Bytes size) {
  auto const& sizes = correction.sizes;
  auto const& factors = correction.factors;
  auto const after = static_cast<std::size_t>(std::ranges::lower_bound(sizes, size) - sizes.begin());
  if (after == 0) return factors.front();
  if (after == sizes.size()) return factors.back();
  auto const share = (logarithm_of(size) - logarithm_of(sizes[after - 1])) /
                     (logarithm_of(sizes[after]) - logarithm_of(sizes[after - 1]));
  return factors[after - 1] * std::pow(factors[after] / factors[after - 1], share);
}

double transferred(CollectiveCalibration const& measured, Sweep const& asked) {
  if (measured.collective != asked.kind) return 0;
  return std::exp2(-doublings(measured.ranks, asked.ranks) - doublings(measured.nodes, asked.nodes));
}

double correction_of(hardware::Library const& library, Sweep const& asked, Bytes size, hardware::Algorithm algorithm,
                     hardware::Protocol protocol) {
  auto most = 0.0;
  auto factor = 1.0;
  for (auto const& calibration : library.calibrations) {
    auto const part = transferred(calibration, asked);
    auto const correction = std::ranges::find_if(calibration.corrections, [&](SizeCorrection const& each) {
      return each.algorithm == algorithm && each.protocol == protocol;
    });
    if (part <= most || correction == calibration.corrections.end()) continue;
    most = part;
    factor = std::pow(factor_at(*correction, size), part);
  }
  return factor;
}

CollectiveCalibration const* calibration_at(hardware::Library const& library, Sweep const& asked, Bytes size) {
  for (auto const& each : library.calibrations)
    if (each.collective == asked.kind && each.ranks == asked.ranks && each.nodes == asked.nodes &&
        each.smallest <= size && size <= each.largest)
      return &each;
  return nullptr;
}

}  // namespace twinstep::collectives
