#include "sim/collectives/folded.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/collectives/choice.hpp"
#include "sim/collectives/correction.hpp"
#include "sim/collectives/dispatch.hpp"
#include "sim/collectives/load_sheet.hpp"

namespace twinstep::collectives {

Bytes nearest_bytes(double bytes) {
  return to_bytes(std::floor(bytes + 0.5));
}

Duration time_alone(Folded const& folded, topology::Topology const& topology) {
  auto total = Duration{};
  for (auto const& phase : folded.phases) {
    auto slowest = phase.least;
    for (auto const& load : phase.loads)
      slowest = std::max(slowest, transfer_time(load.bytes, topology.resource(load.resource).bandwidth));
    total += phase.latency + slowest;
  }
  return total;
}

namespace {

/// A link shaped by a token bucket makes up for pauses: while a step waits the bucket fills, and the bytes that follow
/// pass it at once. So waiting and sending overlap, unlike on a wire (Linux, net/sched/sch_tbf.c).
void hide_latencies(Folded& folded) {
  for (auto& phase : folded.phases) phase.least = std::max(phase.least, std::exchange(phase.latency, {}));
}

/// Where sends are posted before receives, a rank that is early announces what it can receive, and one that is late
/// does so behind its own data: the early one's data then waits until the late one's has passed, in every collective
/// that follows (gloo/allgather.cc and alltoall.cc over gloo/transport/tcp/pair.cc). It takes a connection with data
/// both ways: between two ranks, or in pairwise messages.
void take_turns(Folded& folded, FoldRequest const& request, Bytes beyond) {
  if (request.algorithm != Algorithm::kPairwise && request.placement.ranks > 2) return;
  for (auto& phase : folded.phases)
    for (auto& load : phase.loads) load.bytes += std::max(Bytes{}, load.bytes - beyond);
}

}  // namespace

Folded fold_uncorrected(FoldRequest const& request) {
  auto folded = algorithm_of(request.algorithm).fold(request);
  folded.algorithm = request.algorithm;
  folded.protocol = request.protocol;
  folded.channels = request.channels;
  auto const* const fixed = request.cluster.library.fixed(request.kind);
  if (fixed && fixed->algorithm == request.algorithm && fixed->half_duplex_beyond)
    take_turns(folded, request, fixed->half_duplex_beyond->value);
  if (request.cluster.fabric.transport.is_token_bucket && request.placement.nodes > 1) hide_latencies(folded);
  return folded;
}

Folded fold_as(FoldRequest const& request) {
  auto folded = fold_uncorrected(request);
  auto const& library = request.cluster.library;
  if (library.calibrations.empty()) return folded;
  auto const asked = Sweep{request.kind, request.placement.ranks, request.placement.nodes};
  auto const factor = correction_of(library, asked, request.size, request.algorithm, request.protocol);
  for (auto& phase : folded.phases) {
    phase.latency = to_duration(to_seconds(phase.latency) * factor);
    phase.least = to_duration(to_seconds(phase.least) * factor);
    for (auto& load : phase.loads) load.bytes = to_bytes(static_cast<double>(load.bytes.count()) * factor);
  }
  return folded;
}

Folded fold(Question const& question, Layout const& layout, hardware::Cluster const& cluster,
            topology::Topology const& topology) {
  return Chooser{layout, cluster, topology}.fold(question);
}

Folded fold_message(Bytes size, RankId from, RankId to, hardware::Cluster const& cluster,
                    topology::Topology const& topology) {
  auto folded = Folded{};
  folded.algorithm = Algorithm::kPairwise;
  folded.channels = 1;
  folded.is_message = true;
  if (from == to || size.count() <= 0) return folded;
  auto const gpus = cluster.node().gpus;
  auto const sender = static_cast<std::int64_t>(from.index());
  auto const receiver = static_cast<std::int64_t>(to.index());
  // Only the two ranks take part: nothing else shares their links.
  auto const pair = Layout{2, {{2, 1}}, sender / gpus, 1, sender % gpus, 1, 1};
  auto const placement = Placement{pair, cluster, topology};
  auto const request = FoldRequest{CollectiveKind::kAllToAll, size, placement, cluster, topology, Algorithm::kPairwise,
                                   Protocol::kSimple,         1};
  auto sheet = LoadSheet{request};
  auto const bytes = static_cast<double>(size.count());
  sheet.add_memory(bytes);
  auto latency = launch_latency(request);

  auto level = topology.meeting_level(sender / gpus, receiver / gpus);
  if (level == 0) {
    sheet.add_inside(topology.within_node(sender % gpus, receiver % gpus), bytes);
    latency += inside_step(request);
    folded.intra = size;
  } else {
    // On a rail-optimised fabric different NICs hang on different leaves and meet one tier higher.
    auto const changes_rail =
        cluster.fabric.is_rail_optimised && topology.nic_of(sender % gpus) != topology.nic_of(receiver % gpus);
    if (changes_rail) level = std::max(level, std::min<std::size_t>(2, topology.levels()));
    sheet.add_outside(topology.out_of_node(sender % gpus), bytes);
    sheet.add_outside(topology.into_node(receiver % gpus), bytes);
    for (auto tier = std::size_t{1}; tier < level; ++tier) sheet.add_tier(tier, bytes);
    latency += between_step(request, level);
    folded.inter = size;
  }
  folded.phases.push_back({latency, sheet.loads(efficiency_of(request, Traffic::kPeers)), {}});
  return folded;
}

}  // namespace twinstep::collectives
