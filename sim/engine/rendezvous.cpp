#include "sim/engine/rendezvous.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/engine/alike_resources.hpp"

namespace twinstep::engine {

using namespace program;

/// Matches part by part. A queue is a communicator group (for collectives) or an ordered pair of cells on a
/// communicator (for messages); the k-th part that a member issues on a queue belongs to its k-th transfer.
struct Rendezvous::Builder {
  /// A queue's transfers, in order, and how many each member has issued so far.
  struct Queue {
    std::vector<std::uint32_t> transfers;
    std::map<std::pair<CellId, bool>, std::size_t> issued;  // by cell and, for messages, side
  };

  Rendezvous& out;
  StepProgram const& program;
  Projection const& cells;
  Machine const& machine;
  std::map<std::pair<CommunicatorId, std::size_t>, Queue> group_queues;
  std::map<std::tuple<CommunicatorId, CellId, CellId>, Queue> pair_queues;
  std::map<std::tuple<CollectiveKind, Bytes, CommunicatorId, std::size_t>, std::uint32_t> folded_collectives;
  std::map<std::tuple<Bytes, RankId, RankId>, std::uint32_t> folded_messages;
  std::vector<std::pair<std::uint32_t, Participant>> participants;  // with their transfers, in the order of issue

  std::uint32_t keep(collectives::Folded folded) {
    out.folded_.push_back(std::move(folded));
    return static_cast<std::uint32_t>(out.folded_.size() - 1);
  }

  std::uint32_t fold(Collective const& collective, CellId cell, std::size_t group) {
    auto const rank = cells.representative(cells.group(collective.communicator, cell).front());
    auto const size = payload(program, collective, rank);
    auto const [entry, is_new] =
        folded_collectives.try_emplace({collective.kind, size, collective.communicator, group}, 0);
    if (is_new) {
      auto const axes = program.communicators[collective.communicator.index()].axes;
      auto const layout = collectives::layout_of(program.mesh, axes, rank, machine.topology().gpus_per_node());
      entry->second = keep(collectives::fold(collective.kind, size, layout, machine.cluster(), machine.topology()));
    }
    return entry->second;
  }

  std::uint32_t fold(Bytes size, RankId from, RankId to) {
    auto const [entry, is_new] = folded_messages.try_emplace({size, from, to}, 0);
    if (is_new) entry->second = keep(collectives::fold_message(size, from, to, machine.cluster(), machine.topology()));
    return entry->second;
  }

  /// The transfer that the next part of `member` on `queue` belongs to; made by `make` if it is the first to come.
  template <class Make>
  std::uint32_t join(Queue& queue, std::pair<CellId, bool> member, OpId op, Make&& make) {
    auto& issued = queue.issued[member];
    if (issued == queue.transfers.size()) {
      queue.transfers.push_back(static_cast<std::uint32_t>(out.transfers_.size()));
      auto& transfer = out.transfers_.emplace_back(make());
      transfer.number = static_cast<std::uint32_t>(issued);
    }
    auto const index = queue.transfers[issued++];
    participants.emplace_back(index, Participant{member.first, op});
    return index;
  }

  std::uint32_t match(Collective const& collective, CellId cell, OpId op) {
    auto const communicator = collective.communicator;
    auto const group = cells.group_index(communicator, cell);
    auto& queue = group_queues[{communicator, group}];
    return join(queue, {cell, false}, op, [&] {
      auto transfer = Transfer{.folded = fold(collective, cell, group), .communicator = communicator};
      auto const members = cells.group(communicator, cell);
      transfer.needed = static_cast<std::uint32_t>(members.size());
      auto ranks = std::int64_t{0};
      for (auto const member : members) ranks += cells.multiplicity(member);
      transfer.groups = ranks / program.mesh.size(program.communicators[communicator.index()].axes);
      if (queue.transfers.size() > 1) {
        transfer.previous = queue.transfers[queue.transfers.size() - 2];
        out.transfers_[transfer.previous].next = queue.transfers.back();
      }
      return transfer;
    });
  }

  std::uint32_t match(PointToPoint const& message, CellId cell, OpId op) {
    auto const axes = program.communicators[message.communicator.index()].axes;
    auto const self = cells.representative(cell);
    auto const peer = program.mesh.rank_in_group(self, axes, program.evaluate(message.peer, self));
    auto const other = cells.cell_of(peer);
    auto const from = message.sends ? cell : other;
    auto const to = message.sends ? other : cell;
    auto& queue = pair_queues[{message.communicator, from, to}];
    return join(queue, {cell, message.sends}, op, [&] {
      auto const size = payload(program, message, self);
      return Transfer{.folded = message.sends ? fold(size, self, peer) : fold(size, peer, self),
                      .needed = 2,
                      .groups = cells.multiplicity(cell),
                      .communicator = message.communicator,
                      .from = from,
                      .to = to};
    });
  }

  void match_all() {
    out.transfer_of_part_.resize(cells.size());
    for (std::size_t c = 0; c < cells.size(); ++c) {
      auto const cell = CellId{c};
      auto const& role = program.roles[cells.role(cell).index()];
      auto& transfer_of_part = out.transfer_of_part_[c];
      transfer_of_part.resize(role.parts.size());
      for (std::size_t i = 0; i < role.operations.size(); ++i) {
        auto const* communication = std::get_if<Communication>(&role.operations[i].work);
        if (communication == nullptr) continue;
        for (auto p = communication->parts.first; p < communication->parts.first + communication->parts.count; ++p)
          transfer_of_part[p] = std::visit([&](auto const& part) { return match(part, cell, OpId{i}); }, role.parts[p]);
      }
    }
  }

  /// A counting sort by transfer.
  void store_participants() {
    for (auto const& [transfer, participant] : participants) ++out.transfers_[transfer].participant_count;
    auto first = std::uint32_t{0};
    for (auto& transfer : out.transfers_) {
      transfer.first_participant = first;
      first += std::exchange(transfer.participant_count, 0);
    }
    out.participants_.resize(first);
    for (auto const& [index, participant] : participants) {
      auto& transfer = out.transfers_[index];
      out.participants_[transfer.first_participant + transfer.participant_count++] = participant;
    }
  }
};

Rendezvous::Rendezvous(StepProgram const& program, Projection const& cells, Machine const& machine) {
  auto builder = Builder{.out = *this, .program = program, .cells = cells, .machine = machine};
  builder.match_all();
  builder.store_participants();
  merge_alike_resources(folded_, machine.topology());
}

}  // namespace twinstep::engine
