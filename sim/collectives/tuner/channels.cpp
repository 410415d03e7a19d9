#include <algorithm>

#include "sim/collectives/tuner/model.hpp"

namespace twinstep::collectives::tuner {
namespace {

using hardware::Algorithm;
using hardware::Protocol;

bool is_multicast(Algorithm algorithm) {
  return algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
}
bool is_collnet(Algorithm algorithm) {
  return algorithm == Algorithm::kCollNetDirect || algorithm == Algorithm::kCollNetChain;
}

/// Threads of a channel (maxThreads in src/graph/tuning.cc).
std::int64_t most_threads(TunerRequest const& request, Algorithm algorithm, Protocol protocol) {
  constexpr auto kSlowRing = BytesPerSecond{12e9};  // PCI_BW
  if (protocol == Protocol::kLl) return 512;
  if (protocol == Protocol::kLl128) return request.environment.ll128_threads.value_or(640);
  if (is_collnet(algorithm)) return 640;
  auto const& ring = request.graph.ring;
  auto const is_slow = ring.within_nodes * static_cast<double>(ring.count) <= kSlowRing;
  return algorithm == Algorithm::kRing && is_slow ? 256 : 512;
}

/// Bytes that keep one thread busy (threadThresholds).
std::int64_t bytes_per_thread(TunerRequest const& request, Algorithm algorithm, Protocol protocol) {
  if (protocol == Protocol::kLl) return algorithm == Algorithm::kRing ? 8 * request.graph.ranks : 8;
  if (protocol == Protocol::kLl128) return 8;
  return is_collnet(algorithm) ? 512 : 64;
}

}  // namespace

std::int64_t channels_used(TunerRequest const& request, Algorithm algorithm, Protocol protocol) {
  if (is_multicast(algorithm)) return request.graph.nvls_ctas;
  constexpr auto kManyBytes = std::int64_t{1} << 50;  // every channel is busy long before, and no product overflows
  auto const bytes = std::min(request.size.count(), kManyBytes);
  auto const threads = most_threads(request, algorithm, protocol);
  auto const per_channel = threads * bytes_per_thread(request, algorithm, protocol);
  auto const busy = std::clamp<std::int64_t>(bytes / per_channel, 1, request.graph.channels);

  // The scheduler gives a channel 32 KiB of traffic at least. all_reduce moves its bytes twice; LL counts four times.
  constexpr auto kLeastTraffic = std::int64_t{32} << 10;
  auto const traffic =
      bytes * (request.kind == CollectiveKind::kAllReduce ? 2 : 1) * (protocol == Protocol::kLl ? 4 : 1);
  return std::clamp<std::int64_t>(divide_up(traffic, kLeastTraffic), 1, busy);
}

}  // namespace twinstep::collectives::tuner
