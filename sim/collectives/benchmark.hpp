#pragma once

#include <optional>
#include <utility>

#include "sim/base/collective_kind.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/correction.hpp"
#include "sim/hardware/library.hpp"

namespace twinstep::collectives {

/// How a benchmark of one collective is run.
struct BenchmarkRun {
  hardware::Launcher launcher = hardware::Launcher::kProcessPerGpu;
  std::int64_t ranks = 1;
  std::int64_t ranks_per_node = 1;
};

/// The host's time for one call. all_to_all hands over a send and a receive for each peer.
[[nodiscard]] Duration host_time(CollectiveKind kind, BenchmarkRun const& run, hardware::Library const& library);

/// What a benchmark measures: launching on the host overlaps the work on the devices, so it is a smooth maximum of
/// both, (host^4 + device^4)^(1/4), that is at most 19 % above the larger.
[[nodiscard]] Duration benchmark_time(Duration host, Duration device);

/// Where a measurement would lie nine times in ten: on a layout and size that a calibration of the library measured, by
/// what it missed on sizes that it had not seen; elsewhere by what the constants missed on systems that they had not
/// seen. Nothing for a library without errors.
[[nodiscard]] std::optional<std::pair<Duration, Duration>> interval_of(Duration predicted, Sweep const& sweep,
                                                                       Bytes size, hardware::Library const& library);

}  // namespace twinstep::collectives
