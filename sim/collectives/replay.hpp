#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/collectives/timing.hpp"

namespace twinstep::collectives {

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
    if (counted.empty()) return schedule.arrivals(schedule, participant, step);
    return counted[static_cast<std::size_t>(step * participants() + participant)];
  }
  /// By step, then by participant; only where the schedule does not count itself.
  std::vector<std::uint16_t> counted;
};

/// The collective message by message, with what it was folded from. Cost O(steps), and O(messages) where the schedule
/// does not count arrivals itself. Throws InputError for more steps of all participants than end within an hour.
[[nodiscard]] Replay replay_of(FoldRequest const& request);

/// One message between two ranks: participant 0 sends, participant 1 receives.
[[nodiscard]] Replay replay_of_message(Bytes size, RankId from, RankId to, hardware::Cluster const& cluster,
                                       topology::Topology const& topology);

}  // namespace twinstep::collectives
