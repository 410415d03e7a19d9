#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/collectives/replay.hpp"
#include "sim/engine/exact/route_table.hpp"
#include "sim/engine/flow_clock.hpp"

namespace twinstep::engine {

/// One collective that runs message by message on a network that others may use too (collectives::Replay says by which
/// rules). Nothing is allocated after it was made; size O(ranks × lanes), some 30 bytes each. Cost of a message: its
/// resources, and what the network needs.
class MessageReplay {
 public:
  /// `places` are those of the ranks. `index` is what the clock's events call it by.
  MessageReplay(collectives::Replay const& replay, std::vector<Place> places, RouteTable const& routes,
                std::uint32_t index);

  void start(FlowClock& clock) const;
  /// The latency of a message is over, or that of the launch.
  void let_flow(FlowClock& clock, std::uint32_t message);
  void end_message(FlowClock& clock, std::uint32_t message);

  [[nodiscard]] bool has_ended() const { return done_ == ranks_.size(); }
  [[nodiscard]] std::int64_t message_count() const { return message_count_; }
  /// Payload that has left a rank for another of its node, or of another node.
  [[nodiscard]] double bytes_inside() const { return bytes_inside_; }
  [[nodiscard]] double bytes_outside() const { return bytes_outside_; }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  static constexpr std::uint32_t kLaunch = Event::kDetailMask;

  struct Participant {
    std::int32_t step = -1;         // that it is in
    std::uint16_t unfinished = 0;   // messages of the step, sent and received
    std::uint16_t sent = 0;         // of those
    std::uint32_t waiting = kNone;  // messages for it whose senders wait for it to enter their step
  };
  /// What a participant sends on a lane in its step.
  struct Message {
    double bytes = 0;
    std::uint32_t to = 0;
    std::uint32_t next_waiting = kNone;
  };

  [[nodiscard]] std::uint32_t sender_of(std::uint32_t message) const {
    return lanes_ == 1 ? message : message / lanes_;
  }
  void go_on(FlowClock& clock, std::uint32_t rank);
  void enter(FlowClock& clock, std::uint32_t rank);
  void send(FlowClock& clock, std::uint32_t rank, std::uint32_t lane, std::uint32_t to, double bytes);
  void begin(FlowClock& clock, std::uint32_t message, std::int64_t step) const;
  void begin_waiting(FlowClock& clock, std::uint32_t rank);
  void count_down(FlowClock& clock, std::uint32_t rank);
  [[nodiscard]] Duration latency(std::int64_t step) const;
  [[nodiscard]] bool is_agent(std::uint32_t participant) const { return participant >= replay_->schedule.ranks; }
  [[nodiscard]] Place place_of(std::uint32_t participant) const {
    return places_[is_agent(participant) ? participant - static_cast<std::size_t>(replay_->schedule.ranks)
                                         : participant];
  }
  void find_uses(std::uint32_t from, std::uint32_t message);
  void add_uses(std::span<Hop const> hops, std::uint32_t node, double bytes);
  void add_use(std::uint32_t resource, double bytes);

  collectives::Replay const* replay_;
  std::vector<Place> places_;
  RouteTable const* routes_;
  std::uint32_t index_;
  std::uint32_t lanes_;
  std::vector<Participant> ranks_;
  std::vector<Message> messages_;  // by participant, then by lane
  std::size_t done_ = 0;
  std::int64_t message_count_ = 0;
  double bytes_inside_ = 0;
  double bytes_outside_ = 0;
  std::array<Use, 48> uses_;  // scratch: of one message
  std::size_t use_count_ = 0;
};

}  // namespace twinstep::engine
