#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/units.hpp"

namespace twinstep::engine {

/// What an event wakes.
enum class EventKind : std::uint32_t { kActivityEnds, kOperationEnds, kLatencyOver, kStreamWakes };

struct Event {
  Time time;
  std::uint64_t order = 0;         ///< of insertion; breaks ties, so that runs repeat exactly
  std::uint32_t subject = 0;       ///< an activity, a transfer or a stream
  std::uint32_t version : 30 = 0;  ///< of the subject when the event was made; a stale event is skipped
  EventKind kind : 2 = EventKind::kActivityEnds;
};

inline constexpr std::uint32_t kVersionMask = (1U << 30) - 1;

/// Events in the order of time, then of insertion. O(log n) to add and to take.
class EventQueue {
 public:
  void add(Time time, EventKind kind, std::uint32_t subject, std::uint32_t version = 0) {
    auto& event = heap_.emplace_back();
    event.time = time;
    event.order = next_order_++;
    event.subject = subject;
    event.version = version & kVersionMask;
    event.kind = kind;
    std::push_heap(heap_.begin(), heap_.end(), is_later);
  }

  [[nodiscard]] std::optional<Event> take() {
    if (heap_.empty()) return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    auto const event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  static bool is_later(Event const& a, Event const& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }

  std::vector<Event> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace twinstep::engine
