#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/program/step_program.hpp"
#include "validate/cpu/board.hpp"
#include "validate/cpu/exchange.hpp"
#include "validate/cpu/step_clock.hpp"
#include "validate/cpu/transport.hpp"

namespace twinstep::cpu {

/// One collective of one group of ranks, or one message between two ranks, from its first issue to its end.
struct Meeting {
  std::string name;                            ///< "operation 3 on communicator "data""
  bool is_message = false;                     ///< then place 0 sends and place 1 receives
  std::vector<RankId> ranks;                   ///< by place
  std::vector<std::optional<Member>> members;  ///< by place: those that have arrived
  std::size_t joined = 0;                      ///< places whose rank has issued it
  std::size_t arrived = 0;
  bool is_over = false;
  Time end;

  /// Moves the data. Requires that every rank has arrived. Returns the bytes that left ranks.
  Bytes hold() const;
  /// "rank 1 and rank 3", those that have not arrived.
  [[nodiscard]] std::string missing() const;
};

/// A place in a meeting.
struct Seat {
  std::shared_ptr<Meeting> meeting;
  std::size_t place = 0;
};

/// Finds which operations of different ranks belong together, by order of issue: the k-th collective of a rank on a
/// communicator meets the k-th of the others in its group, and the k-th send from a to b on one meets the k-th receive
/// at b from a. Guarded by the board's lock.
class Meetings {
 public:
  explicit Meetings(program::StepProgram const& program) : program_{&program} {}

  /// The seat of `part`, which `rank` issues now.
  [[nodiscard]] Seat join(RankId rank, program::CommunicationPart const& part);

 private:
  // Of collectives the first rank of the group, twice; of messages sender and receiver.
  using Key = std::tuple<bool, CommunicatorId, RankId, RankId>;
  using Counter = std::tuple<Key, RankId, bool>;  // who counts, and whether as a sender
  [[nodiscard]] Seat join(RankId rank, program::Collective const& collective);
  [[nodiscard]] Seat join(RankId rank, program::PointToPoint const& message);
  [[nodiscard]] Seat sit_down(Key const& key, std::int64_t index, Meeting&& fresh, std::size_t place);

  program::StepProgram const* program_;
  std::map<Counter, std::int64_t> issued_;
  std::map<std::tuple<Key, std::int64_t>, std::shared_ptr<Meeting>> open_;  // not joined by everybody yet
};

/// Carries communications out between ranks that are threads of one process: who comes last moves the data of all.
class SharedMemory final : public Transport {
 public:
  SharedMemory(program::StepProgram const& program, Board& board, StepClock const& clock)
      : board_{board}, clock_{clock}, meetings_{program} {}

  [[nodiscard]] std::unique_ptr<Transfer> issue(RankId rank,
                                                std::span<program::CommunicationPart const* const> parts) override;
  [[nodiscard]] timeline::WireBytes wire() const override { return {.intra = wire_, .inter = {}}; }

 private:
  class Meet;

  Board& board_;
  StepClock const& clock_;
  Meetings meetings_;  // guarded by the board
  Bytes wire_;         // guarded by the board
};

}  // namespace twinstep::cpu
