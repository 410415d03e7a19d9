#pragma once

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

/// Bus bandwidth over algorithm bandwidth (NVIDIA/nccl-tests, doc/PERFORMANCE.md): 2(n-1)/n for all_reduce; (n-1)/n for
/// all_gather, reduce_scatter, all_to_all, gather and scatter; 1 for broadcast and reduce.
[[nodiscard]] double bus_factor(program::CollectiveKind kind, std::int64_t ranks);

}  // namespace twinstep::collectives
