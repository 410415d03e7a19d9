#include "validate/cpu/shared_memory.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::cpu {

/// The seats of one rank in the meetings of one communication.
class SharedMemory::Meet final : public Transfer {
 public:
  Meet(SharedMemory& memory, RankId rank, std::vector<Seat> seats)
      : memory_{memory}, rank_{rank}, seats_{std::move(seats)} {}

  Time carry_out(std::vector<Member> members, WaitingFor const& waiting_for) override {
    for (auto* meeting : arrive(std::move(members))) hold(*meeting);
    auto last = Time{};
    for (auto const& seat : seats_) {
      wait_for_end_of(*seat.meeting, waiting_for);
      last = std::max(last, seat.meeting->end);
    }
    return last;
  }

 private:
  /// Returns the meetings for which this rank is the last to come.
  std::vector<Meeting*> arrive(std::vector<Member> members) {
    auto complete = std::vector<Meeting*>{};
    auto const lock = memory_.board_.lock();
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      auto& meeting = *seats_[i].meeting;
      meeting.members[seats_[i].place] = std::move(members[i]);
      if (++meeting.arrived == meeting.ranks.size()) complete.push_back(&meeting);
    }
    return complete;
  }

  void hold(Meeting& meeting) {
    auto const sent = meeting.hold();
    auto const now = memory_.clock_.now();
    auto const lock = memory_.board_.lock();
    memory_.wire_ += sent;
    meeting.end = now;
    meeting.is_over = true;
    for (auto const rank : meeting.ranks) memory_.board_.wake(rank.index());
  }

  void wait_for_end_of(Meeting const& meeting, WaitingFor const& waiting_for) {
    auto lock = memory_.board_.lock();
    memory_.board_.wait(
        lock, rank_.index(), [&] { return meeting.is_over; },
        [&] { return fmt::format("{} ({})", waiting_for(meeting.missing()), meeting.name); });
  }

  SharedMemory& memory_;
  RankId rank_;
  std::vector<Seat> seats_;
};

std::unique_ptr<Transfer> SharedMemory::issue(RankId rank, std::span<program::CommunicationPart const* const> parts) {
  auto const lock = board_.lock();
  auto seats = std::vector<Seat>{};
  for (auto const* part : parts) seats.push_back(meetings_.join(rank, *part));
  return std::make_unique<Meet>(*this, rank, std::move(seats));
}

Bytes Meeting::hold() const {
  TWINSTEP_CHECK(arrived == ranks.size(), "a meeting is held when everybody has arrived");
  if (is_message) return pass_message(*members[0], *members[1], name);
  auto present = std::vector<Member>{};
  for (auto const& member : members) present.push_back(*member);
  return cpu::exchange(present, name);
}

std::string Meeting::missing() const {
  auto names = std::vector<std::string>{};
  for (std::size_t place = 0; place < ranks.size(); ++place)
    if (!members[place]) names.push_back(fmt::format("rank {}", ranks[place].index()));
  return fmt::format("{}", fmt::join(names, " and "));
}

Seat Meetings::join(RankId rank, program::CommunicationPart const& part) {
  return std::visit([&](auto const& p) { return join(rank, p); }, part);
}

Seat Meetings::join(RankId rank, program::Collective const& collective) {
  auto const& communicator = program_->communicators[collective.communicator.index()];
  auto const size = program_->grids.size(communicator.along);
  auto fresh = Meeting{};
  for (std::int64_t place = 0; place < size; ++place)
    fresh.ranks.push_back(program_->grids.rank_in_group(rank, communicator.along, place));
  auto const key = Key{false, collective.communicator, fresh.ranks.front(), fresh.ranks.front()};
  auto const index = issued_[{key, rank, false}]++;
  fresh.name = fmt::format("operation {} on communicator {}", index, quoted(program_->text(communicator.name)));
  auto const place = program_->grids.index_in_group(rank, communicator.along);
  return sit_down(key, index, std::move(fresh), static_cast<std::size_t>(place));
}

Seat Meetings::join(RankId rank, program::PointToPoint const& message) {
  auto const& communicator = program_->communicators[message.communicator.index()];
  auto const peer = program_->grids.rank_in_group(rank, communicator.along, program_->evaluate(message.peer, rank));
  auto const from = message.sends ? rank : peer;
  auto const to = message.sends ? peer : rank;
  auto const key = Key{true, message.communicator, from, to};
  auto const index = issued_[{key, rank, message.sends}]++;
  auto fresh = Meeting{};
  fresh.name = fmt::format("message {} from rank {} to rank {}", index, from.index(), to.index());
  fresh.is_message = true;
  fresh.ranks = {from, to};
  return sit_down(key, index, std::move(fresh), message.sends ? 0 : 1);
}

Seat Meetings::sit_down(Key const& key, std::int64_t index, Meeting&& fresh, std::size_t place) {
  auto const [entry, is_new] = open_.try_emplace({key, index});
  if (is_new) {
    fresh.members.resize(fresh.ranks.size());
    entry->second = std::make_shared<Meeting>(std::move(fresh));
  }
  auto meeting = entry->second;
  if (++meeting->joined == meeting->ranks.size()) open_.erase(entry);
  return {std::move(meeting), place};
}

}  // namespace twinstep::cpu
