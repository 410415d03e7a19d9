#include "sim/engine/exact/message_replay.hpp"

#include <cmath>
#include <utility>

#include "sim/base/check.hpp"

namespace twinstep::engine {

MessageReplay::MessageReplay(collectives::Replay const& replay, std::vector<Place> places, RouteTable const& routes,
                             std::uint32_t index)
    : replay_{&replay},
      places_{std::move(places)},
      routes_{&routes},
      index_{index},
      lanes_{static_cast<std::uint32_t>(replay.schedule.lanes)},
      ranks_(static_cast<std::size_t>(replay.participants())),
      messages_(ranks_.size() * lanes_) {
  TWINSTEP_CHECK(std::cmp_equal(places_.size(), replay.schedule.ranks), "every rank sits somewhere");
  TWINSTEP_CHECK(messages_.size() < kLaunch, "messages can be told apart");
}

void MessageReplay::start(FlowClock& clock) const {
  clock.wait_until(clock.now() + replay_->launch, EventKind::kMessageMayFlow, index_, kLaunch);
}

void MessageReplay::let_flow(FlowClock& clock, std::uint32_t index) {
  if (index == kLaunch) {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) go_on(clock, rank);
    return;
  }
  auto const& message = messages_[index];
  if (message.bytes <= 0) return end_message(clock, index);
  auto const from = sender_of(index);
  find_uses(from, index);
  auto least = Duration{};
  if (replay_->least_per_byte > 0)
    least = Duration{std::llround(replay_->least_per_byte * message.bytes * ranks_[from].sent)};
  if (use_count_ == 0 && least == Duration{}) return end_message(clock, index);
  auto const uses = std::span{uses_}.first(use_count_);
  auto const bytes = uses.empty() ? 0.0 : uses.front().bytes;  // a route's first link is crossed once
  auto const work = Work{uses, bytes, least};
  clock.flow(clock.now(), work, EventKind::kMessageEnds, index_, index);
}

void MessageReplay::end_message(FlowClock& clock, std::uint32_t index) {
  ++message_count_;
  auto const from = sender_of(index);
  auto const to = messages_[index].to;
  count_down(clock, from);
  count_down(clock, to);
}

void MessageReplay::count_down(FlowClock& clock, std::uint32_t rank) {
  if (--ranks_[rank].unfinished == 0) go_on(clock, rank);
}

/// Enters the next step in which it has something to do.
void MessageReplay::go_on(FlowClock& clock, std::uint32_t rank) {
  auto& self = ranks_[rank];
  auto const steps = replay_->schedule.steps;
  do {
    if (++self.step == steps) {
      ++done_;
      return;
    }
    enter(clock, rank);
  } while (self.unfinished == 0);
}

/// Begins what it sends to those who are in the step already, and what those who are sent to it.
void MessageReplay::enter(FlowClock& clock, std::uint32_t rank) {
  auto const& schedule = replay_->schedule;
  auto& self = ranks_[rank];
  auto const step = self.step;
  self.sent = 0;
  if (auto const& stages = replay_->stages; stages.count > 0) {
    for (auto const& sent : stages.sent_by(rank))
      if (sent.stage >= stages.first_at_work(step) && sent.stage <= stages.last_at_work(step))
        send(clock, rank, sent.lane, sent.to, static_cast<double>(sent.chunk_count) * replay_->chunk_bytes);
  } else {
    for (std::uint32_t lane = 0; lane < lanes_; ++lane)
      if (auto const sent = schedule.message(rank, step, lane))
        send(clock, rank, lane, static_cast<std::uint32_t>(sent->to),
             schedule.splits.is_even() ? static_cast<double>(sent->chunk_count) * replay_->chunk_bytes
                                       : static_cast<double>(schedule.splits.count(rank, sent->to)));
  }
  self.unfinished = static_cast<std::uint16_t>(self.sent + replay_->arrivals(rank, step));
  if (self.waiting != kNone) begin_waiting(clock, rank);
}

void MessageReplay::send(FlowClock& clock, std::uint32_t rank, std::uint32_t lane, std::uint32_t to, double bytes) {
  auto& self = ranks_[rank];
  ++self.sent;
  auto const index = rank * lanes_ + lane;
  auto& message = messages_[index];
  message.to = to;
  message.bytes = bytes;
  auto& receiver = ranks_[to];
  if (receiver.step == self.step)
    begin(clock, index, self.step);
  else
    message.next_waiting = std::exchange(receiver.waiting, index);
}

/// Those of later steps go on waiting.
void MessageReplay::begin_waiting(FlowClock& clock, std::uint32_t rank) {
  auto& self = ranks_[rank];
  auto index = std::exchange(self.waiting, kNone);
  while (index != kNone) {
    auto& message = messages_[index];
    auto const next = message.next_waiting;
    if (ranks_[sender_of(index)].step == self.step)
      begin(clock, index, self.step);
    else
      message.next_waiting = std::exchange(self.waiting, index);
    index = next;
  }
}

void MessageReplay::begin(FlowClock& clock, std::uint32_t index, std::int64_t step) const {
  clock.wait_until(clock.now() + latency(step), EventKind::kMessageMayFlow, index_, index);
}

Duration MessageReplay::latency(std::int64_t step) const {
  for (auto const& run : replay_->latency) {
    if (step < run.steps) return run.latency;
    step -= run.steps;
  }
  return {};
}

/// The resources of a message's route, and of the memory that it is read from.
void MessageReplay::find_uses(std::uint32_t from, std::uint32_t index) {
  auto const& message = messages_[index];
  auto const a = place_of(from);
  auto const b = place_of(message.to);
  use_count_ = 0;
  auto const is_switched = is_agent(from) || is_agent(message.to);
  if (is_switched && replay_->schedule.agents_sit_in_network) {
    auto const bytes = message.bytes / replay_->efficiency.outside;
    if (is_agent(from))
      add_uses(routes_->in(b), b.node, bytes);
    else
      add_uses(routes_->out(a), a.node, bytes);
    bytes_outside_ += message.bytes;
  } else if (a.node != b.node) {
    auto const bytes = message.bytes / replay_->efficiency.outside;
    add_uses(routes_->out(a), a.node, bytes);
    auto const level = routes_->meeting_level(a, b);
    for (std::size_t tier = 1; tier < level; ++tier) {
      add_use(routes_->up(tier, a, b, index), bytes);
      add_use(routes_->down(tier, a, b, index), bytes);
    }
    add_uses(routes_->in(b), b.node, bytes);
    bytes_outside_ += message.bytes;
  } else {
    auto const bytes = message.bytes / replay_->efficiency.inside;
    if (is_agent(message.to))
      add_uses(routes_->to_switch(a), a.node, bytes);
    else if (is_agent(from))
      add_uses(routes_->from_switch(b), b.node, bytes);
    else if (replay_->takes_ring_links)
      add_uses(routes_->ring_link(a, b.gpu), a.node, bytes);
    else
      add_uses(routes_->inside(a, b.gpu), a.node, bytes);
    bytes_inside_ += message.bytes;
  }
  if (auto const factor = replay_->memory_bytes_per_wire_byte; factor > 0 && !is_agent(from))
    add_use(routes_->memory(a), message.bytes * factor);
}

void MessageReplay::add_uses(std::span<Hop const> hops, std::uint32_t node, double bytes) {
  for (auto const& hop : hops) add_use(hop.at(node), bytes * hop.times);
}

void MessageReplay::add_use(std::uint32_t resource, double bytes) {
  TWINSTEP_CHECK(use_count_ < uses_.size(), "a route has fewer links");
  uses_[use_count_++] = {resource, bytes};
}

}  // namespace twinstep::engine
