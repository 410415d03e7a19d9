#include "validate/cpu/gloo/gloo_transport.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/collective_kind.hpp"
#include "sim/base/units.hpp"
#include "validate/cpu/gloo/passages.hpp"

namespace twinstep::cpu {
namespace {

/// Where what leaves `place` in a collective goes, and how many elements: to the next place on a ring, or directly.
/// Summed over the places it is what `exchange` returns: the fewest that a ring needs.
/// @param elements  of the collective by place; they differ only in all_to_all
std::vector<std::pair<std::size_t, std::int64_t>> leaving(CollectiveKind kind, std::size_t place,
                                                          std::span<std::int64_t const> elements, std::size_t root) {
  auto const places = elements.size();
  auto const count = static_cast<std::int64_t>(places);
  auto const all = elements[place];
  auto const next = (place + 1) % places;
  auto const chunk = [&](std::size_t of) {
    auto const index = static_cast<std::int64_t>(of);
    return chunk_begin(all, count, index + 1) - chunk_begin(all, count, index);
  };
  auto const to_others = [&] {
    auto out = std::vector<std::pair<std::size_t, std::int64_t>>{};
    for (std::size_t to = 0; to < places; ++to)
      if (to != place) out.emplace_back(to, chunk(to));
    return out;
  };
  using enum CollectiveKind;
  switch (kind) {
    case kAllReduce: return {{next, 2 * all - chunk(place) - chunk(next)}};
    case kAllGather: return {{next, all - chunk(next)}};
    case kReduceScatter: return {{next, all - chunk(place)}};
    case kBroadcast: return {{next, next == root ? 0 : all}};
    case kReduce: return {{next, place == root ? 0 : all}};
    case kGather: return {{root, place == root ? 0 : chunk(place)}};
    case kScatter: return place == root ? to_others() : std::vector<std::pair<std::size_t, std::int64_t>>{};
    case kAllToAll: return to_others();
  }
  TWINSTEP_UNREACHABLE("a collective is one of eight");
}

using program::Collective;
using program::PointToPoint;
using program::StepProgram;

bool has_messages(StepProgram const& program) {
  return std::ranges::any_of(program.roles, [](program::Role const& role) {
    return std::ranges::any_of(role.parts, [](auto const& part) { return std::holds_alternative<PointToPoint>(part); });
  });
}

/// Runs all at once; the first on this thread. Throws what one of them threw after all have ended; `on_error` is called
/// before.
void run_together(std::vector<std::function<void()>> const& lanes, std::function<void()> const& on_error) {
  auto failures = std::vector<std::exception_ptr>(lanes.size());
  auto const run = [&](std::size_t i) {
    try {
      lanes[i]();
    } catch (...) {
      failures[i] = std::current_exception();
      on_error();
    }
  };
  {
    auto threads = std::vector<std::jthread>{};
    for (std::size_t i = 1; i < lanes.size(); ++i) threads.emplace_back([&run, i] { run(i); });
    if (!lanes.empty()) run(0);
  }
  for (auto const& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace

void Connections::prepare(StepProgram const& program) {
  groups_.clear();
  auto same = std::map<std::vector<RankId>, std::size_t>{};
  for (auto const& communicator : program.communicators) {
    auto ranks = std::vector<RankId>{};
    for (std::int64_t place = 0; place < program.grids.size(communicator.along); ++place)
      ranks.push_back(program.grids.rank_in_group(peers_->self(), communicator.along, place));
    auto* group = static_cast<Group*>(nullptr);
    if (ranks.size() > 1) {
      auto const number = same[ranks]++;
      auto const [entry, is_new] = made_.try_emplace({ranks, number});
      group = &entry->second;
      if (is_new) {
        auto names = std::vector<std::size_t>{};
        for (auto const rank : ranks) names.push_back(rank.index());
        group->context = peers_->connect(ranks, fmt::format("group-{}-{}", fmt::join(names, "-"), number));
        group->ranks = ranks;
        group->place = static_cast<std::size_t>(group->context->rank);
      }
    }
    groups_.push_back(group);
  }
  if (messages_ || peers_->count() == 1 || !has_messages(program)) return;
  auto everybody = std::vector<RankId>{};
  for (std::size_t rank = 0; rank < peers_->count(); ++rank) everybody.emplace_back(rank);
  messages_ = peers_->connect(everybody, "messages");
}

/// What one communication of this rank posts: messages; collectives, by communicator; and what stays in this process.
class GlooTransport::Post final : public Transfer {
 public:
  explicit Post(GlooTransport& transport) : transport_{transport} {}

  Time carry_out(std::vector<Member> members, WaitingFor const& waiting_for) override {
    auto passages = std::optional<Passages>{};
    if (!messages_.empty()) post_messages(passages, members);
    auto lanes = std::vector<std::function<void()>>{};
    if (alone_) lanes.emplace_back([&] { stay(members, waiting_for); });
    for (auto const& turns : by_communicator_)
      lanes.emplace_back([&] {
        for (auto const& [index, turn] : turns) meet(turn, members[index], waiting_for);
      });
    run_together(lanes, [this] { transport_.peers_.disconnect(); });
    if (passages) explained(waiting_for, peers_of_messages(), [&] { passages->wait(); });
    return transport_.clock_.now();
  }

  void add(std::size_t index, Turn turn) {
    auto const same = std::ranges::find_if(
        by_communicator_, [&](auto const& turns) { return turns.front().second.communicator == turn.communicator; });
    auto& turns = same == by_communicator_.end() ? by_communicator_.emplace_back() : *same;
    turns.emplace_back(index, std::move(turn));
  }
  void add(std::size_t index, Message message) { messages_.emplace_back(index, message); }
  void add_alone(std::vector<std::size_t> indices, std::unique_ptr<Transfer> transfer) {
    alone_indices_ = std::move(indices);
    alone_ = std::move(transfer);
  }

 private:
  void post_messages(std::optional<Passages>& passages, std::vector<Member> const& members) {
    passages.emplace(*transport_.connections_.messages(), transport_.peers_.patience());
    for (auto const& [index, message] : messages_) {
      auto const& member = members[index];
      auto const sends = std::get<PointToPoint>(*member.part).sends;
      auto const numbers = sends ? member.sent : member.received;
      if (sends)
        passages->send(numbers.memory(), numbers.bytes(), message.peer.index(), message.number);
      else
        passages->receive(numbers.memory(), numbers.bytes(), message.peer.index(), message.number);
    }
  }

  void stay(std::vector<Member> const& members, WaitingFor const& waiting_for) {
    auto mine = std::vector<Member>{};
    for (auto const index : alone_indices_) mine.push_back(members[index]);
    alone_->carry_out(std::move(mine), waiting_for);
  }

  void meet(Turn const& turn, Member const& member, WaitingFor const& waiting_for) {
    auto& group = *transport_.connections_.groups()[turn.communicator];
    explained(waiting_for, group.ranks,
              [&] { cpu::carry_out(group, turn.number, member, turn.elements, transport_.peers_.patience()); });
  }

  [[nodiscard]] std::vector<RankId> peers_of_messages() const {
    auto out = std::vector<RankId>{};
    for (auto const& [index, message] : messages_) out.push_back(message.peer);
    return out;
  }

  /// Does `work` with `ranks`; if that fails, finds out why.
  void explained(WaitingFor const& waiting_for, std::vector<RankId> const& ranks, std::function<void()> const& work) {
    try {
      work();
    } catch (InternalError const&) {
      throw;
    } catch (std::exception const&) {
      auto names = std::vector<std::string>{};
      for (auto const rank : ranks)
        if (rank != transport_.peers_.self()) names.push_back(fmt::format("rank {}", rank.index()));
      transport_.peers_.explain(waiting_for(fmt::format("{}", fmt::join(names, " and "))));
    }
  }

  GlooTransport& transport_;
  std::vector<std::pair<std::size_t, Message>> messages_;                   // with the index of their part
  std::vector<std::vector<std::pair<std::size_t, Turn>>> by_communicator_;  // likewise
  std::vector<std::size_t> alone_indices_;
  std::unique_ptr<Transfer> alone_;
};

GlooTransport::GlooTransport(StepProgram const& program, Peers& peers, Connections& connections, Board& board,
                             StepClock const& clock)
    : program_{program},
      peers_{peers},
      connections_{connections},
      clock_{clock},
      alone_{program, board, clock},
      issued_(program.communicators.size()) {
  for (auto const& role : program.roles) {
    auto& by_communicator = collectives_.emplace_back(program.communicators.size());
    for (auto const& op : role.operations)
      if (auto const* communication = std::get_if<program::Communication>(&op.work))
        for (auto const& part : role.parts_of(*communication))
          if (auto const* collective = std::get_if<Collective>(&part))
            by_communicator[collective->communicator.index()].push_back(collective);
  }
}

std::unique_ptr<Transfer> GlooTransport::issue(RankId rank, std::span<program::CommunicationPart const* const> parts) {
  auto post = std::make_unique<Post>(*this);
  auto alone = std::vector<program::CommunicationPart const*>{};
  auto alone_indices = std::vector<std::size_t>{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto is_alone = false;
    if (auto const* collective = std::get_if<Collective>(parts[i])) {
      is_alone = connections_.groups()[collective->communicator.index()] == nullptr;
      if (!is_alone) post->add(i, take_turn(*collective));
    } else {
      auto const message = address(std::get<PointToPoint>(*parts[i]));
      is_alone = message.peer == rank;
      if (!is_alone) post->add(i, message);
    }
    if (!is_alone) continue;
    alone.push_back(parts[i]);
    alone_indices.push_back(i);
  }
  if (!alone.empty()) post->add_alone(std::move(alone_indices), alone_.issue(rank, alone));
  return post;
}

GlooTransport::Turn GlooTransport::take_turn(Collective const& collective) {
  auto const communicator = collective.communicator.index();
  auto& group = *connections_.groups()[communicator];
  auto turn = Turn{communicator, group.issued++, {}};
  auto const index = issued_[communicator]++;
  for (auto const rank : group.ranks) {
    auto const& theirs = collectives_[program_.role_of(rank).index()][communicator];
    TWINSTEP_CHECK(index < theirs.size(), "all ranks of a group issue equally many collectives");
    turn.elements.push_back(program_.evaluate(theirs[index]->elements, rank));
  }
  auto const root = static_cast<std::size_t>(program_.evaluate(collective.root, peers_.self()));
  for (auto const& [to, elements] : leaving(collective.kind, group.place, turn.elements, root))
    count_bytes(group.ranks[to], collective.type, elements);
  return turn;
}

GlooTransport::Message GlooTransport::address(PointToPoint const& message) {
  auto const along = program_.communicators[message.communicator.index()].along;
  auto const self = peers_.self();
  auto const peer = program_.grids.rank_in_group(self, along, program_.evaluate(message.peer, self));
  if (peer == self) return {peer, 0};
  if (message.sends) count_bytes(peer, message.type, program_.evaluate(message.elements, self));
  auto const before = messages_issued_[{peer, message.communicator, message.sends}]++;
  return {peer, before * program_.communicators.size() + message.communicator.index()};
}

void GlooTransport::count_bytes(RankId to, DataType type, std::int64_t elements) {
  auto const is_inside = peers_.host(to).node == peers_.host(peers_.self()).node;
  (is_inside ? wire_.intra : wire_.inter) += size_of(type) * elements;
}

}  // namespace twinstep::cpu
