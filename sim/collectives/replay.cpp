#include "sim/collectives/replay.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/collectives/dispatch.hpp"
#include "sim/collectives/folded.hpp"
#include "sim/collectives/pipeline.hpp"

namespace twinstep::collectives {
namespace {

/// Refuses what would take an hour: participants enter a million steps a second at least, each in its turn.
void require_end(Schedule const& schedule) {
  constexpr auto kMost = std::int64_t{4'000'000'000};
  auto const participants = schedule.ranks + schedule.agents;
  if (schedule.steps <= kMost / participants) return;
  throw InputError{fmt::format(
      "found {} participants in {} steps each to simulate exactly, expected a product of at most {}; use fewer "
      "ranks, a smaller size, or fold them",
      participants, schedule.steps, kMost)};
}

std::int64_t step_count(std::vector<StepRun> const& runs) {
  auto count = std::int64_t{0};
  for (auto const& run : runs) count += run.steps;
  return count;
}

std::int64_t chunks_sent(Replay const& replay, std::int64_t rank) {
  auto const& schedule = replay.schedule;
  auto const& stages = replay.stages;
  auto chunks = std::int64_t{0};
  if (stages.count > 0) {
    for (auto const& sent : stages.sent_by(rank)) chunks += sent.chunk_count * stages.pieces;
    return chunks;
  }
  for (auto step = std::int64_t{0}; step < schedule.steps; ++step)
    for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane)
      if (auto const message = schedule.message(rank, step, lane)) chunks += message->chunk_count;
  return chunks;
}

/// What a byte that a participant sends takes at least, so that all of its bytes take as long as the folded phases
/// say. Ranks 0 and 1 are looked at: where there is a least time, the one or the other sends as much as anyone.
double least_per_byte(FoldRequest const& request, Replay const& replay) {
  auto least = Duration{};
  for (auto const& phase : fold_as(request).phases) least += phase.least;
  if (least == Duration{}) return 0;
  auto const most = std::max(chunks_sent(replay, 0), chunks_sent(replay, 1));
  if (most == 0) return 0;
  return static_cast<double>(least.count()) / (static_cast<double>(most) * replay.chunk_bytes);
}

/// The first piece passes stage k in step k.
Stages stages_of(Replay const& replay) {
  auto const& schedule = replay.schedule;
  auto const all = replay.participants();
  auto stages = Stages{.count = schedule.steps - (schedule.pieces - 1), .pieces = schedule.pieces};
  auto const lanes = schedule.lanes / stages.count;
  stages.arrivals.resize(static_cast<std::size_t>(all * (stages.count + 1)));
  stages.first.push_back(0);
  for (auto from = std::int64_t{0}; from < all; ++from) {
    for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane) {
      auto const stage = lane / lanes;
      auto const message = schedule.message(from, stage, lane);
      if (!message) continue;
      stages.sent.push_back({static_cast<std::uint32_t>(stage), static_cast<std::uint32_t>(lane),
                             static_cast<std::uint32_t>(message->to),
                             static_cast<std::uint32_t>(message->chunk_count)});
      ++stages.arrivals[static_cast<std::size_t>(message->to * (stages.count + 1) + stage + 1)];
    }
    stages.first.push_back(static_cast<std::uint32_t>(stages.sent.size()));
  }
  for (auto p = std::int64_t{0}; p < all; ++p) {
    auto const of = std::span{stages.arrivals}.subspan(static_cast<std::size_t>(p * (stages.count + 1)),
                                                       static_cast<std::size_t>(stages.count + 1));
    std::partial_sum(of.begin(), of.end(), of.begin());
  }
  return stages;
}

std::vector<std::uint16_t> count_arrivals(Replay const& replay) {
  auto const& schedule = replay.schedule;
  auto const all = replay.participants();
  auto counted = std::vector<std::uint16_t>(static_cast<std::size_t>(schedule.steps * all));
  for (auto step = std::int64_t{0}; step < schedule.steps; ++step)
    for (auto from = std::int64_t{0}; from < all; ++from)
      for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane)
        if (auto const message = schedule.message(from, step, lane))
          ++counted[static_cast<std::size_t>(step * all + message->to)];
  return counted;
}

}  // namespace

Replay replay_of(FoldRequest const& request) {
  auto const& algorithm = algorithm_of(request.algorithm);
  auto const timing = algorithm.timing(request);
  auto replay = Replay{};
  replay.schedule =
      schedule_of(request.kind, request.algorithm, request.placement.ranks, 0, request.placement.ranks_per_node);
  if (timing.pieces > 1) replay.schedule = pipelined(replay.schedule, timing.pieces);
  require_end(replay.schedule);
  replay.schedule.splits = request.splits;
  replay.launch = timing.launch;
  replay.latency = timing.steps;
  if (auto const steps = replay.schedule.steps; step_count(timing.steps) != steps)
    replay.latency = spread(timing.total() - timing.launch, steps);
  replay.efficiency = efficiency_of(request, algorithm.traffic);
  replay.takes_ring_links = algorithm.takes_ring_links;
  if (auto const held = request.placement.ranks_per_node; replay.takes_ring_links && held > 1)
    replay.efficiency.inside *= request.placement.ring_share(held);
  replay.chunk_bytes = static_cast<double>(request.size.count()) / static_cast<double>(replay.schedule.chunks);
  replay.memory_bytes_per_wire_byte = request.cluster.library.memory_bytes_per_wire_byte.value;
  if (replay.schedule.pieces > 1) replay.stages = stages_of(replay);
  replay.least_per_byte = least_per_byte(request, replay);
  if (replay.schedule.arrivals == nullptr && replay.stages.count == 0) replay.counted = count_arrivals(replay);
  return replay;
}

Replay replay_of_message(Bytes size, RankId from, RankId to, hardware::Cluster const& cluster,
                         topology::Topology const& topology) {
  TWINSTEP_CHECK(from != to && size.count() > 0, "a message goes somewhere and carries something");
  auto const folded = fold_message(size, from, to, cluster, topology);
  // Only the two ranks take part.
  auto const pair = Layout{2, {{2, 1}}, 0, 1, 0, 1, 1};
  auto const placement = Placement{pair, cluster, topology};
  auto request = FoldRequest{CollectiveKind::kAllToAll, size, placement, cluster, topology};
  request.algorithm = Algorithm::kPairwise;
  auto replay = Replay{};
  auto& schedule = replay.schedule;
  schedule = Schedule{request.kind, 2};
  schedule.steps = 1;
  schedule.successor = [](Schedule const&, std::int64_t rank, std::int64_t, std::int64_t) {
    return rank == 0 ? std::optional{Message{1}} : std::nullopt;
  };
  schedule.arrivals = [](Schedule const&, std::int64_t rank, std::int64_t) { return rank; };
  replay.latency = {{1, folded.phases.front().latency}};
  replay.efficiency = efficiency_of(request, Traffic::kPeers);
  replay.chunk_bytes = static_cast<double>(size.count());
  replay.memory_bytes_per_wire_byte = cluster.library.memory_bytes_per_wire_byte.value;
  return replay;
}

}  // namespace twinstep::collectives
