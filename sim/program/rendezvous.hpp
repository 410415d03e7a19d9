#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
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

/// A collective of one group, or a message between two cells, with everyone who takes part.
struct Rendezvous {
  CommunicatorId communicator;
  std::size_t number = 0;  ///< which one of its group or pair it is, from 0
  std::vector<Participant> participants;
};

/// The communications of a program, in each group's and each pair's own order.
struct Meetings {
  std::vector<std::vector<std::vector<Participant>>> collectives_of_cell;  ///< by communicator and cell, as issued
  struct Pair {
    std::vector<Participant> sends;
    std::vector<Participant> receives;
  };
  std::map<std::pair<CellId, CellId>, Pair> messages;  ///< by sender and receiver
};

/// Lists who takes part in what. Requires a program without defects. Cost: the communications of all cells.
[[nodiscard]] Meetings list_meetings(StepProgram const& program, Projection const& projection);

/// Pairs up meetings that match one to one.
[[nodiscard]] std::vector<Rendezvous> pair_up(StepProgram const& program, Projection const& projection,
                                              Meetings const& meetings);

/// Runs the program without time and says where it gets stuck; empty if it does not.
[[nodiscard]] std::vector<std::string> find_stuck(StepProgram const& program, Projection const& projection,
                                                  std::vector<Rendezvous> const& rendezvous);

/// "rank 5", or "rank 5 (and 3 alike)".
[[nodiscard]] std::string describe(Projection const& projection, CellId cell);

}  // namespace twinstep::program
