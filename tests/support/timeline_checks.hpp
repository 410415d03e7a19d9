#pragma once

#include <string>
#include <vector>

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::tests {

/// What in `timeline` contradicts the meaning of `program`, one sentence each; empty if nothing does. Holds for every
/// executor, whatever its clock and however many ranks a track stands for.
///
/// - The tracks of a role stand for all of its ranks, and have one span for each operation, in order.
/// - issue <= arrive <= start <= end, and the step ends with its last span.
/// - The host issues in list order, and works on nothing else during a host operation.
/// - A stream runs its operations in order, one at a time; none starts before what it waits for has ended.
/// - Delays and host work take at least their time.
/// - A rank's operations on one communicator run one after another, and no communication ends before every member
///   that is a track has arrived; on a real clock, every member that it receives something of.
/// - Spans carry the payload of their communications and copies.
/// - Memory is never negative, in any category, and ends as the persistent buffers alone. (An executor may also keep
///   its context and its collective library.)
[[nodiscard]] std::vector<std::string> find_violations(program::StepProgram const& program,
                                                       timeline::Timeline const& timeline);

}  // namespace twinstep::tests
