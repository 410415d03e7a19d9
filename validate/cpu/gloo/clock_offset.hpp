#pragma once

#include <chrono>
#include <functional>

namespace twinstep::cpu {

/// How far another clock is ahead of this one, by asking it several times: the answer with the smallest round trip is
/// taken to have been given halfway. The error is at most half that round trip.
/// Source: Cristian, Probabilistic clock synchronization, Distributed Computing 3, 1989.
/// @param ask  returns what the other clock shows between the call and the return
[[nodiscard]] std::chrono::nanoseconds clock_offset(std::function<std::chrono::nanoseconds()> const& now,
                                                    std::function<std::chrono::nanoseconds()> const& ask);

/// How often it asks.
inline constexpr int kClockQuestions = 16;

}  // namespace twinstep::cpu
