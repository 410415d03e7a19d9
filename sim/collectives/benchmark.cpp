#include "sim/collectives/benchmark.hpp"

#include <cmath>

namespace twinstep::collectives {

Duration host_time(CollectiveKind kind, BenchmarkRun const& run, hardware::Library const& library) {
  auto const& cost = library.launcher(run.launcher);
  if (kind == CollectiveKind::kAllToAll) return cost.fixed.value + cost.per_peer.value * run.ranks;
  return cost.fixed.value + cost.per_gpu.value * run.ranks_per_node;
}

Duration benchmark_time(Duration host, Duration device) {
  if (host == Duration{}) return device;
  auto const h = to_seconds(host).count();
  auto const d = to_seconds(device).count();
  return to_duration(Seconds{std::sqrt(std::sqrt(h * h * h * h + d * d * d * d))});
}

std::optional<std::pair<Duration, Duration>> interval_of(Duration predicted, Sweep const& sweep, Bytes size,
                                                         hardware::Library const& library) {
  auto const* const calibration = calibration_at(library, sweep, size);
  auto const& errors = calibration != nullptr ? calibration->errors : library.errors;
  auto const& band = errors[static_cast<std::size_t>(hardware::range_of(size))];
  if (band.low.value <= 0 || band.high.value == band.low.value) return std::nullopt;
  auto const seconds = to_seconds(predicted);
  return std::pair{to_duration(seconds * band.low.value), to_duration(seconds * band.high.value)};
}

}  // namespace twinstep::collectives
