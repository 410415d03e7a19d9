#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace twinstep::reports {

/// What a track does, or waits for, at a moment; the first of these that applies.
enum class Activity : std::uint8_t {
  kCompute,         ///< a kernel runs; several at once: the first kind in the order of `program::WorkKind`
  kTransfer,        ///< no kernel runs, and a communication moves data: exposed
  kWaitsForRanks,   ///< no kernel runs, and a communication waits until other ranks are ready; virtual clock only
  kWaitsForStages,  ///< likewise a message of a pipeline, until a neighbouring stage is: a bubble, but for a full pipe
  kCopy,            ///< only copies run
  kWaitsForHost,    ///< nothing runs, and the host works or has not issued yet what runs next
  kIdle             ///< nothing runs, for another reason: dependencies, launch latency, the end of the step
};

/// A share of the step.
struct BreakdownEntry {
  Activity activity{};
  std::optional<program::WorkKind> kind;  ///< of computation and transfers
  Duration time;
  bool operator==(BreakdownEntry const&) const = default;
};

/// "gemm", "exposed_all_gather", "waits_for_ranks", "waits_for_stages", "exposed_copy", "waits_for_host", "idle".
[[nodiscard]] std::string breakdown_name(BreakdownEntry const& entry);
/// The same for people: "exposed all_gather", "waiting for other ranks", "gaps between dependent kernels".
[[nodiscard]] std::string in_words(BreakdownEntry const& entry);

/// Where the step time goes on one track: every moment from 0 to the step's end belongs to exactly one entry, so the
/// entries add up to the step time to the picosecond. Entries without time are left out; the others come in the
/// order of `Activity`, then of `program::WorkKind`.
///
/// A gap in which nothing runs waits for the host up to the moment at which the operation that ends the gap was issued,
/// and while a host operation works. Cost: a sort of the track's spans for each kind of work.
[[nodiscard]] std::vector<BreakdownEntry> break_down(timeline::Timeline const& timeline, timeline::TrackId track);

}  // namespace twinstep::reports
