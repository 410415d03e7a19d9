#pragma once

#include <string>
#include <vector>

#include "sim/program/step_program.hpp"

/// Parts of `find_defects`, which calls them in order. All require ids that lie in range.
namespace twinstep::program {

/// "role "stage0", layer.3.forward/mlp.up (op 17): ".
[[nodiscard]] std::string place_of(StepProgram const& program, Role const& role, OpId op);

/// Appends what is wrong with the operands of one role's operations: number, direction, region, element counts.
void find_operand_defects(StepProgram const& program, Role const& role, std::vector<std::string>& defects);

}  // namespace twinstep::program
