#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/fluid_network.hpp"

namespace twinstep::engine {

/// The speed of a flow of a transfer from a moment on; 0 when it ends.
struct SpeedChange {
  Time time;
  std::uint32_t transfer = 0;
  std::uint32_t flow = 0;  ///< which of the transfer's (TransferFlow)
  double speed = 0;        ///< in parts of an amount that only this flow has
};

/// Simulated time: what waits for a moment, and what flows until its bytes have passed.
class FlowClock {
 public:
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] FluidNetwork const& network() const { return network_; }
  std::uint32_t add_resource(BytesPerSecond rate) { return network_.add_resource(rate); }

  /// Wakes `kind` of `subject` at `time`, which is not past.
  void wait_until(Time time, EventKind kind, std::uint32_t subject, std::uint32_t detail = 0) {
    events_.add(time, kind, subject, detail);
  }
  /// Wakes `kind` of `subject` when all has passed (see FluidNetwork::start). The detail of kTransferFlowEnds is which
  /// of the flows of the transfer `subject` it is. Returns the flow, which is valid until then.
  std::uint32_t flow(Time begins, Work const& work, EventKind kind, std::uint32_t subject, std::uint32_t detail = 0) {
    auto const index = network_.start(now_, begins, work);
    if (owners_.size() <= index) owners_.resize(index + 1);
    auto& owner = owners_[index];
    owner.kind = kind;
    owner.subject = subject;
    owner.detail = detail;
    return index;
  }
  /// Another least time for a flow from now on (see FluidNetwork::change_least).
  void change_least(std::uint32_t flow, Work const& work) { network_.change_least(flow, now_, work); }

  /// Makes room for what `speed_changes` usually has of so many transfers: a begin and an end.
  void expect_transfers(std::size_t count) { speed_changes_.reserve(2 * count); }

  /// Advances to what happens next: valid until the next call; null if nothing does. Whatever happens at one moment
  /// happens before rates change.
  [[nodiscard]] Event const* next() {
    while (true) {
      if (!events_.has_more_now())
        network_.settle(now_, [this](std::uint32_t flow, Time end) {
          auto& owner = owners_[flow];
          events_.add(end, EventKind::kFlowEnds, flow, ++owner.version);
          if (owner.kind == EventKind::kTransferFlowEnds)
            speed_changes_.push_back({now_, owner.subject, owner.detail, network_.speed(flow)});
        });
      auto const* const event = events_.take();
      if (event == nullptr) return nullptr;
      happens_ = *event;
      if (event->kind() == EventKind::kFlowEnds) {
        auto& owner = owners_[event->subject];
        if (event->detail() != (owner.version & Event::kDetailMask)) continue;  // its end has moved since
        ++owner.version;
        network_.stop(event->subject);
        happens_ = {event->time, owner.kind, owner.subject, owner.detail};
        if (owner.kind == EventKind::kTransferFlowEnds)
          speed_changes_.push_back({event->time, owner.subject, owner.detail, 0});
      }
      now_ = event->time;
      ++event_count_;
      return &happens_;
    }
  }

  /// What happened to the speeds of flows that end as kTransferFlowEnds, in order. Those of single messages are not
  /// kept.
  [[nodiscard]] std::span<SpeedChange const> speed_changes() const { return speed_changes_; }
  /// Things that have happened.
  [[nodiscard]] std::int64_t event_count() const { return event_count_; }

 private:
  /// Whom the end of a flow concerns.
  struct Owner {
    std::uint32_t version = 0;  // of its newest end
    std::uint32_t subject = 0;
    std::uint32_t detail = 0;
    EventKind kind{};
  };

  FluidNetwork network_;
  EventQueue events_;
  std::vector<Owner> owners_;  // by activity
  std::vector<SpeedChange> speed_changes_;
  Event happens_;
  Time now_;
  std::int64_t event_count_ = 0;
};

}  // namespace twinstep::engine
