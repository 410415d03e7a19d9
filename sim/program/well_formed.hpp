#pragma once

#include <string>
#include <vector>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// What is wrong with `program` as data; empty for a well-formed one. Each defect is one sentence that names the
/// role, the operation and the numbers.
///
/// Checked, in this order, each group only if the ones before are clean:
///   1. ids and index ranges lie inside their tables; waits name earlier operations of the role; operations have
///      names; variation tables have one entry for each place;
///   2. every rank plays exactly one role;
///   3. sizes are not negative and regions lie inside their buffers; operands match the work in number, direction,
///      element count and element size; roots and peers lie inside their communicator; nothing reads a buffer before
///      something wrote it, unless it is persistent; lifetimes are those that the operations give.
/// Values that differ between ranks are checked on every rank on which they can differ.
///
/// Cost: linear in the program, plus the ranks along the axes of each distinct varying value or uneven chunk.
[[nodiscard]] std::vector<std::string> find_defects(StepProgram const& program);

/// "role "stage0", layer.3.forward/mlp.up (op 17): ".
[[nodiscard]] std::string place_of(StepProgram const& program, Role const& role, OpId op);

/// A part of `find_defects`, which requires ids that lie in range: appends what is wrong with the operands of one
/// role's operations: number, direction, region, element counts.
void find_operand_defects(StepProgram const& program, Role const& role, std::vector<std::string>& defects);

}  // namespace twinstep::program
