#include "sim/collectives/costs.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/collectives/multicast.hpp"

namespace twinstep::collectives {
namespace {

using hardware::ByAlgorithm;

/// The row of NCCL's tables that an algorithm takes: its own, or the ring's if it is none of NCCL's.
std::size_t row(Algorithm algorithm) {
  auto const index = static_cast<std::size_t>(algorithm);
  return index < hardware::kTunedAlgorithms ? index : static_cast<std::size_t>(Algorithm::kRing);
}

Duration of(ByAlgorithm<Duration> const& table, Algorithm algorithm, Protocol protocol) {
  return table[row(algorithm)][static_cast<std::size_t>(protocol)];
}

Duration scaled(FoldRequest const& request, Duration latency) {
  return to_duration(to_seconds(latency) * request.cluster.library.protocol(request.protocol).latency_factor.value);
}

/// Of a ring of two. Where a node has no other GPU, what both send at once may pass one path, however wide the slots
/// are.
double pair_efficiency(FoldRequest const& request) {
  auto const& node = request.cluster.node();
  auto const pair = node.link.pair_efficiency.value;
  auto const is_one_way = request.kind == CollectiveKind::kBroadcast || request.kind == CollectiveKind::kReduce;
  if (is_one_way || !node.link.duplex_efficiency || node.gpus != 2 || request.placement.nodes > 1) return pair;
  auto const path = node.gpu.pcie.value_or(node.gpu_link).value * node.link.duplex_efficiency->value;
  return std::min(pair, path.count() / node.gpu_link.value.count());
}

double link_efficiency(FoldRequest const& request, Traffic traffic) {
  auto const& link = request.cluster.node().link;
  auto const& library = request.cluster.library;
  switch (traffic) {
    case Traffic::kPeers: return link.peer_efficiency.value;
    case Traffic::kMulticast: return multicast_efficiency(request);
    case Traffic::kNeighbours: break;
  }
  auto const ring = request.placement.ranks == 2 ? pair_efficiency(request) : link.ring_efficiency.value;
  return request.algorithm == Algorithm::kTree ? ring * library.tree_efficiency.value : ring;
}

}  // namespace

Efficiency efficiency_of(FoldRequest const& request, Traffic traffic) {
  auto const& protocol = request.cluster.library.protocol(request.protocol);
  auto const& transport = request.cluster.fabric.transport;
  auto const wire = protocol.wire_efficiency.value * protocol.copy_efficiency.value;
  auto const is_lone = request.placement.ranks_per_node == 1;
  return {link_efficiency(request, traffic) * wire,
          transport.efficiency.value * wire * (is_lone ? transport.lone_gpu_efficiency.value : 1.0)};
}

Duration launch_latency(FoldRequest const& request) {
  auto const& library = request.cluster.library;
  return library.kernel_start.value +
         scaled(request, of(library.tuning.base_latency, request.algorithm, request.protocol));
}

Duration network_overhead(hardware::Cluster const& cluster, Protocol protocol) {
  auto const& tuning = cluster.library.tuning;
  auto const times = protocol == Protocol::kSimple ? 3 : 1;
  switch (cluster.node().host.cpu) {
    case hardware::CpuVendor::kIntel: return tuning.net_overhead_intel * times;
    case hardware::CpuVendor::kAmd: return tuning.net_overhead_amd * times;
    case hardware::CpuVendor::kOther: break;
  }
  return tuning.net_overhead_other * times;
}

Duration inside_step(FoldRequest const& request) {
  auto const& tuning = request.cluster.library.tuning;
  auto const& table = request.cluster.node().link.is_nvlink ? tuning.nvlink_latency : tuning.pcie_latency;
  auto step = of(table, request.algorithm, request.protocol);
  if (request.algorithm == Algorithm::kRing && request.placement.nodes > 1)
    step = std::max(step, network_overhead(request.cluster, request.protocol));
  return scaled(request, step);
}

Duration between_step(FoldRequest const& request, std::size_t level) {
  TWINSTEP_CHECK(level >= 1, "nodes meet at a switch");
  // A lone GPU of a node has the tree's constant (NVIDIA/nccl src/graph/tuning.cc, "ppn == 1").
  auto const algorithm = request.placement.ranks_per_node == 1 && request.algorithm == Algorithm::kRing
                             ? Algorithm::kTree
                             : request.algorithm;
  auto const own = scaled(request, of(request.cluster.library.tuning.network_latency, algorithm, request.protocol));
  return own + request.cluster.fabric.transport.step_latency.value * messages_per_step(request) +
         request.topology.hop_latency(level);
}

std::int64_t messages_per_step(FoldRequest const& request) {
  auto const* const fixed = request.cluster.library.fixed(request.kind);
  return fixed && fixed->algorithm == request.algorithm ? fixed->messages_per_step.value : 1;
}

Duration least_time(FoldRequest const& request, double bytes) {
  if (request.protocol != Protocol::kLl) return {};
  auto const between = request.placement.nodes > 1;
  auto const& limit = between ? request.cluster.library.ll_limit_per_channel : request.cluster.node().link.ll_limit;
  if (!limit) return {};
  auto const channels = between ? static_cast<double>(request.channels) : 1.0;
  return to_duration(Seconds{bytes / (limit->value.count() * channels)});
}

}  // namespace twinstep::collectives
