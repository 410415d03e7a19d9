#include "sim/program/meetings.hpp"

#include <algorithm>

namespace twinstep::program {

Communications list_communications(StepProgram const& program, Projection const& projection) {
  auto out = Communications{};
  out.collectives.resize(program.communicators.size());
  for (auto& by_cell : out.collectives) by_cell.resize(projection.size());
  for (std::size_t i = 0; i < projection.size(); ++i) {
    auto const cell = CellId{i};
    auto const rank = projection.representative(cell);
    auto const& role = program.roles[projection.role(cell).index()];
    for (std::size_t o = 0; o < role.operations.size(); ++o) {
      auto const* communication = std::get_if<Communication>(&role.operations[o].work);
      if (communication == nullptr) continue;
      for (auto const& part : role.parts_of(*communication)) {
        auto const participant = Participant{cell, OpId{o}, &part};
        if (auto const* collective = std::get_if<Collective>(&part)) {
          out.collectives[collective->communicator.index()][i].push_back(participant);
          continue;
        }
        auto const& message = std::get<PointToPoint>(part);
        auto const& along = program.communicators[message.communicator.index()].along;
        auto const place = program.evaluate(message.peer, rank);
        auto const peer = projection.cell_of(program.grids.rank_in_group(rank, along, place));
        if (message.sends)
          out.messages[{message.communicator, cell, peer}].sends.push_back(participant);
        else
          out.messages[{message.communicator, peer, cell}].receives.push_back(participant);
      }
    }
  }
  return out;
}

std::vector<Meeting> find_meetings(Communications const& communications, Projection const& projection) {
  auto out = std::vector<Meeting>{};
  for (std::size_t c = 0; c < communications.collectives.size(); ++c) {
    auto const& by_cell = communications.collectives[c];
    for (std::size_t i = 0; i < projection.size(); ++i) {
      auto const group = projection.group(CommunicatorId{c}, CellId{i});
      if (group.front() != CellId{i}) continue;
      auto const first = out.size();
      for (auto const cell : group) {
        auto const& issued = by_cell[cell.index()];
        for (std::size_t k = 0; k < issued.size(); ++k) {
          if (first + k == out.size()) out.push_back({CommunicatorId{c}, k, {group.begin(), group.end()}, {}});
          out[first + k].participants.push_back(issued[k]);
        }
      }
    }
  }
  for (auto const& [ends, pair] : communications.messages) {
    auto const first = out.size();
    for (auto const* side : {&pair.sends, &pair.receives})
      for (std::size_t k = 0; k < side->size(); ++k) {
        if (first + k == out.size()) out.push_back({ends.communicator, k, {ends.from, ends.to}, {}});
        out[first + k].participants.push_back((*side)[k]);
      }
  }
  return out;
}

}  // namespace twinstep::program
