#include "validate/cpu/meetings.hpp"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::cpu {
namespace {
constexpr auto kMessages = std::numeric_limits<std::size_t>::max();  // in the place of a communicator
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
  auto const key = Key{collective.communicator.index(), fresh.ranks.front(), fresh.ranks.front()};
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
  auto const key = Key{kMessages, from, to};
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
