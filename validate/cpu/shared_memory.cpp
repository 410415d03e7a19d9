#include "validate/cpu/shared_memory.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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

}  // namespace twinstep::cpu
