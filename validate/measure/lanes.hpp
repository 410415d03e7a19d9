#pragma once

#include <span>
#include <variant>
#include <vector>

#include "sim/timeline/timeline.hpp"
#include "validate/measure/exchange.hpp"

namespace twinstep::measure {

/// What is measured: one operation, the same again and again. Kernels and copies run on every rank at once.
using Workload = std::variant<Exchange, program::Gemm, program::Attention, program::Elementwise, program::Copy>;

/// A workload that repeats back to back on a stream of its own; its communicator and buffers are its own as well.
struct Lane {
  Workload work;
  int warm_up = 1;     ///< repetitions before those that count
  int iterations = 1;  ///< at least 1
};

/// A program of `ranks` ranks in which the lanes run side by side, after all buffers have been filled: those of
/// exchanges and of memory-bound kernels with zeros, which stay zeros however often they are summed; operands of GEMMs
/// and attention are persistent and hold initial values, because what a GPU draws, and so its clock, depends on them.
[[nodiscard]] program::StepProgram program_of(std::span<Lane const> lanes, std::int64_t ranks);

/// What the repetitions of a lane took.
struct LaneTime {
  Duration each;   ///< of one: the mean of those that count, on the slowest rank
  Duration issue;  ///< from one to the next on the host that issues them, on the slowest rank; 0 for a single one
};

/// One for each lane, as nccl-tests counts: from when a rank is ready for the first repetition that counts to its end
/// of the last. Of several lanes only those repetitions count that end while the others still run, and the first.
/// Requires a timeline of that program with all its spans.
[[nodiscard]] std::vector<LaneTime> times_of(timeline::Timeline const& timeline, std::span<Lane const> lanes);

}  // namespace twinstep::measure
