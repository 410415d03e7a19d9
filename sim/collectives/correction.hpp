#pragma once

#include <cstdint>

#include "sim/base/collective_kind.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/library.hpp"

/// What measured sweeps of a cluster say beyond the constants of its library (hardware::CollectiveCalibration).
namespace twinstep::collectives {

/// A collective on a layout.
struct Sweep {
  CollectiveKind kind{};
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
};

/// The factor that a correction has at a size.
[[nodiscard]] double factor_at(hardware::SizeCorrection const& correction, Bytes size);

/// How much of a correction of `measured` applies to `asked`: all of it on the same layout, half for each doubling or
/// halving of the ranks and of the nodes, a quarter where both double; none for another collective. A deviation that
/// was seen on one layout is partly its own.
[[nodiscard]] double transferred(hardware::CollectiveCalibration const& measured, Sweep const& asked);

/// The factor on the cost of `asked` done by one algorithm and protocol: that of the calibration of which most applies,
/// in the logarithm as much of it as applies. 1 where nothing measured says otherwise.
[[nodiscard]] double correction_of(hardware::Library const& library, Sweep const& asked, Bytes size,
                                   hardware::Algorithm algorithm, hardware::Protocol protocol);

/// The calibration that was measured on this layout and whose sizes hold `size`; nullptr where a prediction goes beyond
/// what was measured.
[[nodiscard]] hardware::CollectiveCalibration const* calibration_at(hardware::Library const& library,
                                                                    Sweep const& asked, Bytes size);

}  // namespace twinstep::collectives
