#include "sim/collectives/benchmark.hpp"

#include <cmath>

namespace twinstep::collectives {

using program::CollectiveKind;

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

double bus_factor(CollectiveKind kind, std::int64_t ranks) {
  auto const n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::kAllReduce: return 2 * (n - 1) / n;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce: return 1;
    default: return (n - 1) / n;
  }
}

}  // namespace twinstep::collectives
