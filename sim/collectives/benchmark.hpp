#pragma once

#include <optional>
#include <utility>

#include "sim/base/units.hpp"
#include "sim/hardware/library.hpp"
#include "sim/program/kinds.hpp"

namespace twinstep::collectives {

/// How a benchmark of one collective is run.
struct BenchmarkRun {
  hardware::Launcher launcher = hardware::Launcher::kProcessPerGpu;
  std::int64_t ranks = 1;
  std::int64_t ranks_per_node = 1;
};

/// The host's time for one call. all_to_all hands over a send and a receive for each peer.
[[nodiscard]] Duration host_time(program::CollectiveKind kind, BenchmarkRun const& run,
                                 hardware::Library const& library);

/// What a benchmark measures: launching on the host overlaps the work on the devices, so it is a smooth maximum of
/// both, (host^4 + device^4)^(1/4), that is at most 19 % above the larger.
[[nodiscard]] Duration benchmark_time(Duration host, Duration device);

/// Where a measurement would lie four times in five, by what the library's constants missed on systems that they had
/// not seen; nothing for a library without errors.
[[nodiscard]] std::optional<std::pair<Duration, Duration>> interval_of(Duration predicted, Bytes size,
                                                                       hardware::Library const& library);

}  // namespace twinstep::collectives
