#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/program/step_program.hpp"
#include "validate/cpu/board.hpp"
#include "validate/cpu/environment.hpp"
#include "validate/cpu/numbers.hpp"
#include "validate/cpu/rank_record.hpp"
#include "validate/cpu/step_clock.hpp"
#include "validate/cpu/transport.hpp"

namespace twinstep::cpu {

/// What the threads of one process share during one step.
struct Step {
  program::StepProgram const& program;
  Environment& environment;
  Board& board;
  Transport& transport;
  StepClock const& clock;
};

/// One rank during one step: its memory, its streams, and the record of what it did.
///
/// The host thread issues operations in list order. A stream's thread runs what the host gave it, in order; each
/// operation first waits for those that it names, and a communication also for its turn on its communicators, on which
/// the rank's operations run one after another.
class RankRun {
 public:
  /// Makes the persistent buffers. Requires a supported program.
  RankRun(Step& step, RankId rank);

  /// The body of the host's thread.
  void run_host();
  /// The body of a stream's thread: returns when the host has issued everything and it has run.
  void run_stream(StreamId stream);

  [[nodiscard]] program::Role const& role() const { return role_; }
  [[nodiscard]] RankId rank() const { return rank_; }
  /// What it did. Call once, after all of its threads have returned.
  [[nodiscard]] RankRecord take_record() { return std::move(record_); }

 private:
  struct Turn {
    std::size_t communicator = 0;
    std::size_t number = 0;
  };
  struct Issued {
    OpId op;
    std::unique_ptr<Transfer> transfer;  // of a communication
    std::vector<Turn> turns;             // on the communicators of its collectives
  };

  void make_memory();
  Issued issue(OpId op);
  std::vector<Turn> take_turns(program::Communication const& communication);
  void allocate(OpId op);
  /// Gives a buffer that lives inside the step its memory.
  void make(BufferId buffer);
  void release(OpId op);
  void record_memory(BufferId buffer, bool is_taken, Time time);

  void execute(Issued const& issued);
  void wait_until_ready(Issued const& issued);
  /// Returns when it ended.
  Time communicate(Issued const& issued);
  void compute(program::Operation const& op);
  void end(Issued const& issued);

  [[nodiscard]] program::Operation const& operation(OpId op) const { return role_.operations[op.index()]; }
  [[nodiscard]] std::span<BufferId const> buffers_of(OpId op) const;
  [[nodiscard]] Numbers operand(program::Region const& region) const;
  [[nodiscard]] std::vector<Numbers> operands(program::Operation const& op) const;
  [[nodiscard]] std::vector<Member> members(program::Operation const& op) const;
  /// "rank 0 waits in stream "comm" for ", to be continued.
  [[nodiscard]] std::string waits_for(program::Operation const& op) const;
  void sleep(Duration duration);

  Step& step_;
  RankId rank_;
  program::Role const& role_;
  StoragePool& pool_;

  std::vector<std::vector<BufferId>> buffers_of_op_;  // each once
  std::vector<std::optional<Storage>> storage_;       // by buffer, of those that live inside the step
  std::vector<Numbers> numbers_;                      // by buffer

  std::vector<std::size_t> issued_on_;  // by communicator: turns given out

  // Guarded by the board.
  std::vector<std::deque<Issued>> queues_;  // by stream
  bool is_all_issued_ = false;
  std::vector<bool> has_ended_;          // by op
  std::vector<std::size_t> users_left_;  // by buffer: operations that have not ended
  std::vector<std::size_t> ended_on_;    // by communicator: turns that are over

  RankRecord record_;  // a span is written by the thread that runs the operation, a sample by the host
};

}  // namespace twinstep::cpu
