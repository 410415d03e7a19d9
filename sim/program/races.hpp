#pragma once

#include <string>
#include <vector>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// Pairs of operations of one role that may run at the same time and touch the same elements, one of them writing.
/// Each is one sentence with both operations, the buffer and the elements.
///
/// An operation comes after another one if a chain of these leads from one to the other: the next operation on its
/// stream; a wait; a host operation, which everything issued later comes after. The operands of one operation do not
/// race with each other (collectives work in place).
///
/// Where regions differ between ranks, there is no race if there would be none with every access touching on every rank
/// what it touches on any. Otherwise every rank along the axes in question is looked at if there are at most eight of
/// them, and if there are more, eight spread evenly, the first and the last among them.
///
/// Requires a program without defects. Cost: operations times streams, plus for each access the number of pieces into
/// which the accesses of its buffer cut its region, times streams.
[[nodiscard]] std::vector<std::string> find_races(StepProgram const& program);

}  // namespace twinstep::program
