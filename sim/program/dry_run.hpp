#pragma once

#include <string>
#include <vector>

#include "sim/program/meetings.hpp"

namespace twinstep::program {

/// Runs the program without time and says where it gets stuck; empty if it does not. Requires meetings of which every
/// one has all its participants. Cost: the operations of all cells.
[[nodiscard]] std::vector<std::string> find_stuck(StepProgram const& program, Projection const& projection,
                                                  std::vector<Meeting> const& meetings);

}  // namespace twinstep::program
