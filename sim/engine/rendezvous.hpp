#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/collectives/folded.hpp"
#include "sim/engine/machine.hpp"
#include "sim/program/projection.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::engine {

/// One side of a transfer: an operation of one cell.
struct Participant {
  program::CellId cell;
  OpId op;
};

/// One collective or one message, matched across the cells that take part.
struct Transfer {
  std::uint32_t folded = 0;             ///< in Rendezvous::folded
  std::uint32_t first_participant = 0;  ///< in Rendezvous::participants
  std::uint32_t participant_count = 0;  ///< that the program names
  std::uint32_t needed = 0;             ///< that must arrive before it starts
  std::int64_t groups = 1;              ///< real groups (or pairs) of ranks that it stands for
  std::uint32_t previous = kNone;       ///< on the same communicator group: must have ended
  std::uint32_t next = kNone;
  CommunicatorId communicator;
  program::CellId from;  ///< of a message; none for collectives
  program::CellId to;
  std::uint32_t number = 0;  ///< on its communicator group (or pair of ranks), from 0

  // While the step runs.
  std::uint32_t arrived = 0;
  std::uint32_t phase = 0;
  bool has_started = false;
  bool has_ended = false;

  static constexpr std::uint32_t kNone = 0xffff'ffff;
};

/// All communications of a program, matched before the step runs: collectives by order of issue on their communicator
/// group, messages by order per pair of ranks. Cost linear in the communications of all cells.
class Rendezvous {
 public:
  Rendezvous(program::StepProgram const& program, program::Projection const& cells, Machine const& machine);

  [[nodiscard]] std::vector<Transfer>& transfers() { return transfers_; }
  [[nodiscard]] Transfer const& transfers_at(std::uint32_t index) const { return transfers_[index]; }
  [[nodiscard]] std::span<Participant const> participants(Transfer const& transfer) const {
    return std::span{participants_}.subspan(transfer.first_participant, transfer.participant_count);
  }
  /// The transfers of a communication operation of `cell`, one for each part.
  [[nodiscard]] std::span<std::uint32_t const> transfers_of(program::CellId cell,
                                                            program::Communication const& communication) const {
    return std::span{transfer_of_part_[cell.index()]}.subspan(communication.parts.first, communication.parts.count);
  }
  [[nodiscard]] collectives::Folded const& folded(Transfer const& transfer) const { return folded_[transfer.folded]; }

 private:
  struct Builder;

  std::vector<Transfer> transfers_;
  std::vector<Participant> participants_;                     // by transfer
  std::vector<std::vector<std::uint32_t>> transfer_of_part_;  // by cell, then by part of its role
  std::vector<collectives::Folded> folded_;                   // each distinct cost once
};

}  // namespace twinstep::engine
