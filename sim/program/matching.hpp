#pragma once

#include <string>
#include <vector>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// Communications of different ranks that do not fit together. Each finding is one sentence.
///
///   1. All members of a communicator's group issue the same sequence of collectives: kind, elements, type, reduction
///      and root (of all_to_all, whose ranks may send different amounts, kind and type).
///   2. For each communicator and ordered pair of ranks, the k-th send meets a k-th receive with the same elements and
///      type.
///   3. If these hold, the program is run without time. A collective needs all members, and its turn on the
///      communicator; a message needs both ends; an operation with several parts ends when all of them have met. If the
///      run gets stuck, every communication that someone waits in says who has not come, and where they are.
///
/// Ranks that are alike (see `Projection`) stand for each other, so the cost does not grow with replicas: linear in
/// the operations of all cells, plus their communications.
/// Requires a program without defects.
[[nodiscard]] std::vector<std::string> find_mismatches(StepProgram const& program);

}  // namespace twinstep::program
