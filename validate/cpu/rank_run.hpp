#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/cpu/board.hpp"
#include "validate/cpu/environment.hpp"
#include "validate/cpu/meetings.hpp"
#include "validate/cpu/numbers.hpp"

namespace twinstep::cpu {

/// What the threads of all ranks share during one step.
struct Step {
  program::StepProgram const& program;
  Environment& environment;
  Board board;
  Meetings meetings;                            ///< guarded by the board
  Bytes wire;                                   ///< that left ranks so far; guarded by the board
  std::chrono::steady_clock::time_point begin;  ///< set before any thread looks at the time

  [[nodiscard]] Time now() const;
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
  /// By op; complete when all threads have returned.
  [[nodiscard]] std::span<timeline::Span const> spans() const { return spans_; }
  /// In the order of time. A buffer counts from the issue of its first use to the return of the issue of its last, the
  /// moment at which a caching allocator could give it out again.
  [[nodiscard]] std::span<timeline::MemorySample const> memory() const { return memory_; }

 private:
  struct Turn {
    std::size_t communicator = 0;
    std::size_t number = 0;
  };
  struct Issued {
    OpId op;
    std::vector<Seat> seats;  // of the parts of a communication
    std::vector<Turn> turns;  // on the communicators of its collectives
  };

  void make_memory();
  Issued issue(OpId op);
  void take_seats(Issued& issued, program::Communication const& communication);
  void allocate(OpId op);
  void release(OpId op);
  void record_memory(BufferId buffer, bool is_taken, Time time);

  void execute(Issued const& issued);
  void wait_until_ready(Issued const& issued);
  /// Returns when it ended.
  Time communicate(Issued const& issued);
  void compute(program::Operation const& op);
  void end(Issued const& issued);
  void wait_for_end_of(Issued const& issued, Seat const& seat);

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

  std::vector<std::vector<BufferId>> buffers_of_op_;  // each once
  std::vector<std::optional<Storage>> storage_;       // by buffer, of those that live inside the step
  std::vector<Numbers> numbers_;                      // by buffer

  // Guarded by the board.
  std::vector<std::deque<Issued>> queues_;  // by stream
  bool is_all_issued_ = false;
  std::vector<bool> has_ended_;          // by op
  std::vector<std::size_t> users_left_;  // by buffer: operations that have not ended
  std::vector<std::size_t> issued_on_;   // by communicator: turns given out
  std::vector<std::size_t> ended_on_;    // by communicator: turns that are over

  std::vector<timeline::Span> spans_;           // each written by the thread that runs the operation
  std::vector<timeline::MemorySample> memory_;  // written by the host
};

}  // namespace twinstep::cpu
