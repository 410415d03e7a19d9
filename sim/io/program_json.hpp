#pragma once

#include <string>

#include "sim/program/step_program.hpp"

/// Step programs as JSON files.
///
/// Texts and scopes stand where they are used; the tables "names" and "scopes" only keep their order. Operations count
/// from 0 within their role, as buffers do; streams and communicators go by their names if those are unique, and by
/// index otherwise. A number that differs between ranks is {"base": …, "variation": index}. Lifetimes of buffers are
/// not written: they follow from the operations.
namespace twinstep::io {

/// One line for each buffer and operation; the same program always gives the same text. Cost: linear.
[[nodiscard]] std::string to_json(program::StepProgram const& program);

}  // namespace twinstep::io
