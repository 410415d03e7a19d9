#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/program/step_program.hpp"
#include "sim/program/unfold.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::engine {

/// The first operation on a stream of each micro-batch that is written.
[[nodiscard]] std::vector<OpId> beginnings_of(program::StepProgram const& program, program::Role const& role);

/// What a rank of a folded program did.
struct CellRun {
  program::Role const* role = nullptr;
  std::span<timeline::Span const> spans;  ///< by operation
};

/// How the run of a folded program goes on where micro-batches are left out.
///
/// Places are those of a list of the micro-batches that are written. That at `place` stands for others; those from
/// `first_alike` to `last_alike` are alike, and each is `period` later than the one before.
struct Repetition {
  std::size_t place = 0;
  std::size_t first_alike = 0;
  std::size_t last_alike = 0;
  std::int64_t times = 0;
  Duration period;
  Time steady_from;  ///< for two periods and more every rank does in each what it does in the next

  /// Where a rank's host stands to its device.
  struct Host {
    Duration
        period;  ///< issues of a micro-batch are so much later than those of the one before; not more than the device
    OpId waits_from;  ///< from this operation on issues follow the device, as a wait made them; none: the host never
                      ///< waits
    [[nodiscard]] bool runs_ahead(Repetition const& of) const { return period < of.period; }
  };
  std::vector<std::vector<program::MicroBatchRange>> micro_batches;  ///< by cell
  std::vector<Host> hosts;                                           ///< by cell

  /// From the beginning of this micro-batch on the first cell to that of the next lies a period like all others.
  [[nodiscard]] std::size_t counted() const { return last_alike - 2; }
  /// Buffers of a cell's micro-batch that stands for others, and where they end.
  [[nodiscard]] std::size_t first_buffer(std::size_t cell) const { return micro_batches[cell][place].buffers; }
  [[nodiscard]] std::size_t end_of_buffers(std::size_t cell) const { return micro_batches[cell][place + 1].buffers; }
  /// The first operation behind the micro-batch that stands for others.
  [[nodiscard]] OpId first_behind(std::size_t cell) const { return OpId{micro_batches[cell][place + 1].operations}; }
  /// How much later the host issues an operation than in the folded run.
  [[nodiscard]] Duration delay_of_issue(std::size_t cell, OpId op) const;
  /// How much later it runs.
  [[nodiscard]] Duration delay_of_run(std::size_t cell, OpId op) const {
    return op < first_behind(cell) ? Duration{} : period * times;
  }
};

/// Finds out whether the step goes on as it went on last: docs/program.md derives why what is found here is what a run
/// of the whole step does, to the picosecond. Nothing where it does not, or has not settled among the micro-batches
/// that are written. Memory is a matter of its own (MemoryLedger). Cost: linear in the operations of all cells.
[[nodiscard]] std::optional<Repetition> find_repetition(program::StepProgram const& program,
                                                        std::span<CellRun const> cells);

}  // namespace twinstep::engine
