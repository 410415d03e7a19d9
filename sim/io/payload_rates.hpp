#pragma once

#include <array>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace twinstep::io {

/// How fast a track communicates from a moment on.
struct PayloadRates {
  timeline::TrackId track;
  Time time;
  std::array<double, kEnumSize<program::WorkKind>> rates{};  ///< by kind of communication, bytes a second
};

/// Each moment at which a rank of a track begins or ends a communication, with the rates after it, in the order of
/// tracks and times. The rate of a communication is its payload over its time from start to end ("algorithm
/// bandwidth"), those in flight together are added. A timeline does not say over which links a communication went, so
/// this is neither what NVLink nor what a NIC carries: that is in its totals by link. On a real clock, waiting for
/// other ranks counts as time. Cost: n log n in the communications, times how many are in flight at once.
[[nodiscard]] std::vector<PayloadRates> payload_rates(timeline::Timeline const& timeline);

}  // namespace twinstep::io
