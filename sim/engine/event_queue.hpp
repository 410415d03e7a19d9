#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

namespace twinstep::engine {

/// What an event wakes.
enum class EventKind : std::uint32_t {
  kFlowEnds,          ///< a flow of the network; it then wakes what the flow's owner says
  kOperationEnds,     ///< of a stream
  kStreamWakes,       ///< a stream
  kLatencyOver,       ///< of a transfer's phase
  kTransferFlowEnds,  ///< of a transfer
  kMessageMayFlow,    ///< of a replay: its latency is over
  kMessageEnds        ///< of a replay
};

class Event {
 public:
  static constexpr std::uint32_t kDetailMask = (1U << 29) - 1;

  constexpr Event() = default;
  constexpr Event(Time when, EventKind kind, std::uint32_t of, std::uint32_t detail)
      : time{when}, subject{of}, tag_{detail << 3 | static_cast<std::uint32_t>(kind)} {}

  Time time;
  std::uint32_t subject = 0;  ///< a flow, a stream, a transfer or a replay
  [[nodiscard]] constexpr EventKind kind() const { return static_cast<EventKind>(tag_ & 7); }
  /// A replay's message; of a flow the version that makes out stale events. Modulo 2^29.
  [[nodiscard]] constexpr std::uint32_t detail() const { return tag_ >> 3; }

 private:
  std::uint32_t tag_ = 0;  // both in one: bit fields would be written one after the other, and stall who reads them
};

/// Events in the order of time, then of insertion. Time never goes back: what is added lies at or after what was taken
/// last.
///
/// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, J. ACM 37(2), 1990): an event lies in the bucket of the highest bit in
/// which its time differs from that of the event taken last. So all events of one moment lie in one bucket, in the
/// order of insertion, and where many fall together, as the messages of a collective do, each is moved once or twice in
/// all. Adding is O(1), taking O(1) for the events of one moment and amortised O(bits of the clock) for the first of
/// them.
class EventQueue {
 public:
  void add(Time time, EventKind kind, std::uint32_t subject, std::uint32_t detail = 0) {
    TWINSTEP_CHECK(time >= last_, "time does not go back");
    bucket_of(time).emplace_back(time, kind, subject, detail);
  }

  /// Whether an event lies at the moment of the one that was taken last.
  [[nodiscard]] bool has_more_now() const { return next_now_ < buckets_[0].size(); }

  /// The earliest event, which stays there until the next one is added; null if there is none.
  [[nodiscard]] Event const* take() {
    if (!has_more_now() && !advance()) return nullptr;
    return &buckets_[0][next_now_++];
  }

 private:
  static constexpr std::size_t kBuckets = 65;

  [[nodiscard]] std::vector<Event>& bucket_of(Time time) {
    auto const differs = static_cast<std::uint64_t>(time.count() ^ last_.count());
    auto const bucket = static_cast<std::size_t>(std::bit_width(differs));
    if (bucket > 0) filled_ |= std::uint64_t{1} << (bucket - 1);
    return buckets_[bucket];
  }

  /// Moves on to the earliest moment that has events. False if there is none.
  bool advance() {
    buckets_[0].clear();
    next_now_ = 0;
    if (filled_ == 0) return false;
    auto const lowest = static_cast<std::size_t>(std::countr_zero(filled_)) + 1;
    filled_ &= filled_ - 1;
    auto& bucket = buckets_[lowest];
    last_ = bucket.front().time;
    auto latest = last_;
    for (auto const& event : bucket) {
      last_ = std::min(last_, event.time);
      latest = std::max(latest, event.time);
    }
    if (last_ == latest) {  // one event alone, or a step of a collective
      std::swap(bucket, buckets_[0]);
      return true;
    }
    for (auto const& event : bucket) bucket_of(event.time).push_back(event);  // all into lower buckets
    bucket.clear();
    return true;
  }

  std::array<std::vector<Event>, kBuckets> buckets_;
  std::uint64_t filled_ = 0;  // bit i: bucket i + 1 has events
  std::size_t next_now_ = 0;  // of bucket 0: what has not been taken
  Time last_;
};

}  // namespace twinstep::engine
