#include "validate/cpu/gloo/clock_offset.hpp"

namespace twinstep::cpu {

std::chrono::nanoseconds clock_offset(std::function<std::chrono::nanoseconds()> const& now,
                                      std::function<std::chrono::nanoseconds()> const& ask) {
  auto smallest = std::chrono::nanoseconds::max();
  auto offset = std::chrono::nanoseconds{0};
  for (auto i = 0; i < kClockQuestions; ++i) {
    auto const sent = now();
    auto const theirs = ask();
    auto const round_trip = now() - sent;
    if (round_trip >= smallest) continue;
    smallest = round_trip;
    offset = theirs - (sent + round_trip / 2);
  }
  return offset;
}

}  // namespace twinstep::cpu
