#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/program/projection.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// One communication as one cell takes part in it.
struct Participant {
  CellId cell;
  OpId op;
  CommunicationPart const* part = nullptr;
};

/// The communications of a program, in the order in which each cell issues them.
struct Communications {
  std::vector<std::vector<std::vector<Participant>>> collectives;  ///< by communicator and cell
  struct Pair {
    std::vector<Participant> sends;
    std::vector<Participant> receives;
  };
  struct Ends {
    CommunicatorId communicator;
    CellId from;
    CellId to;
    auto operator<=>(Ends const&) const = default;
  };
  std::map<Ends, Pair> messages;
};

/// A collective of one group, or a message between two cells.
struct Meeting {
  CommunicatorId communicator;
  std::size_t number = 0;                 ///< which one of its group or pair it is, from 0
  std::vector<CellId> expected;           ///< the group's cells; or sender and receiver
  std::vector<Participant> participants;  ///< those that issue it, in the order of `expected`

  [[nodiscard]] bool is_message() const { return std::holds_alternative<PointToPoint>(*participants.front().part); }
};

/// Lists who issues what. Requires a program without defects. Cost: the communications of all cells.
[[nodiscard]] Communications list_communications(StepProgram const& program, Projection const& projection);

/// Puts together what belongs together: the k-th collective of each cell of a group, the k-th send and the k-th
/// receive of a pair on one communicator. The meetings of one group follow each other in order, and so do those of one
/// pair. Cost: the communications of all cells.
[[nodiscard]] std::vector<Meeting> find_meetings(Communications const& communications, Projection const& projection);

/// Runs the program without time and says where it gets stuck; empty if it does not. Requires meetings of which every
/// one has all its participants. Cost: the operations of all cells.
[[nodiscard]] std::vector<std::string> find_stuck(StepProgram const& program, Projection const& projection,
                                                  std::vector<Meeting> const& meetings);

}  // namespace twinstep::program
