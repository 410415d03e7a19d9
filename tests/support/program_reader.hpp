#pragma once

#include "sim/io/document.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::tests {

/// Reads what `io::to_json` writes; the result equals the program that was written, if that one is well-formed and was
/// made by a builder. Throws InputError with the place for anything else, defects of the program included
/// (`find_defects`).
[[nodiscard]] program::StepProgram read_program(io::Node const& document);

}  // namespace twinstep::tests
