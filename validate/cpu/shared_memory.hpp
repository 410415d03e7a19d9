#pragma once

#include "validate/cpu/board.hpp"
#include "validate/cpu/meetings.hpp"
#include "validate/cpu/step_clock.hpp"
#include "validate/cpu/transport.hpp"

namespace twinstep::cpu {

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
