#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/collectives/timing.hpp"

namespace twinstep::collectives {

/// What a pipeline's participants do with each piece of the buffer. In step t stage k handles piece t - k, so this is
/// all that its schedule says, however many pieces there are. Size O(participants × stages).
struct Stages {
  /// What one participant sends of a piece in a stage.
  struct Sent {
    std::uint32_t stage = 0;
    std::uint32_t lane = 0;  ///< of the pipeline, whose lanes are those of its stages
    std::uint32_t to = 0;
    std::uint32_t chunk_count = 1;
  };

  std::int64_t count = 0;  ///< 0: the schedule is no pipeline
  std::int64_t pieces = 1;
  std::vector<Sent> sent;               ///< by participant, then by stage and lane
  std::vector<std::uint32_t> first;     ///< by participant, and one more: in `sent`
  std::vector<std::uint32_t> arrivals;  ///< by participant, then by stage, and one more: in all earlier stages

  [[nodiscard]] std::int64_t first_at_work(std::int64_t step) const {
    return std::max<std::int64_t>(0, step - pieces + 1);
  }
  [[nodiscard]] std::int64_t last_at_work(std::int64_t step) const { return std::min(step, count - 1); }
  [[nodiscard]] std::span<Sent const> sent_by(std::int64_t participant) const {
    auto const p = static_cast<std::size_t>(participant);
    return std::span{sent}.subspan(first[p], first[p + 1] - first[p]);
  }
  [[nodiscard]] std::int64_t arrivals_at(std::int64_t participant, std::int64_t step) const {
    auto const* const of = arrivals.data() + participant * (count + 1);
    return of[last_at_work(step) + 1] - of[first_at_work(step)];
  }
};

/// Everything that it takes to run one communication message by message: who sends what when, how long a step waits,
/// and what a byte costs.
///
/// Each participant goes through the steps in order. It enters step s + 1 when every message that it sends or receives
/// in step s has ended; nobody waits for the others. A message of step s begins when its sender and its receiver have
/// entered s. It waits the step's latency, then its bytes flow over its route, divided by the efficiency of their
/// traffic.
struct Replay {
  Schedule schedule;
  Duration launch;               ///< before anyone enters the first step
  std::vector<StepRun> latency;  ///< of the steps, as many as the schedule has
  Efficiency efficiency;
  bool takes_ring_links = false;          ///< between neighbours of a node, all links of a GPU (Topology::ring_link)
  double chunk_bytes = 0;                 ///< payload of one chunk
  double memory_bytes_per_wire_byte = 0;  ///< what a sender's device memory moves for each of them
  double least_per_byte = 0;  ///< picoseconds for each byte that a participant sends in a step, whatever the links

  [[nodiscard]] std::int64_t participants() const { return schedule.ranks + schedule.agents; }
  /// Messages that `participant` receives in `step`. Cost that of the schedule's own count, or O(1) where all were
  /// counted before.
  [[nodiscard]] std::int64_t arrivals(std::int64_t participant, std::int64_t step) const {
    if (stages.count > 0) return stages.arrivals_at(participant, step);
    if (counted.empty()) return schedule.arrivals(schedule, participant, step);
    return counted[static_cast<std::size_t>(step * participants() + participant)];
  }
  Stages stages;  ///< of a pipeline
  /// By step, then by participant; only where the schedule neither counts itself nor is a pipeline.
  std::vector<std::uint16_t> counted;
};

/// The collective message by message, with what it was folded from. Cost O(steps), and O(messages) where the schedule
/// neither counts arrivals itself nor is a pipeline. Throws InputError for more steps of all participants than end
/// within an hour.
[[nodiscard]] Replay replay_of(FoldRequest const& request);

/// One message between two ranks: participant 0 sends, participant 1 receives.
[[nodiscard]] Replay replay_of_message(Bytes size, RankId from, RankId to, hardware::Cluster const& cluster,
                                       topology::Topology const& topology);

}  // namespace twinstep::collectives
