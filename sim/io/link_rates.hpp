#pragma once

#include <vector>

#include "sim/timeline/timeline.hpp"

namespace twinstep::io {

/// How fast one rank of a track sends from a moment on, bytes a second.
struct LinkRates {
  timeline::TrackId track;
  Time time;
  double intra = 0;  ///< to other ranks of its node
  double inter = 0;  ///< to other nodes, over its NIC
};

/// Each moment at which the traffic of a track changes, with the rates after it, in the order of tracks and times.
/// Over time, and times the ranks that the track stands for, they sum up to the traffic's bytes. Payload: protocol
/// overhead left out. Nothing for a timeline without traffic. Cost: n log n in the traffic, times how much of it is in
/// flight at once.
[[nodiscard]] std::vector<LinkRates> link_rates(timeline::Timeline const& timeline);

}  // namespace twinstep::io
