#pragma once

#include <cstdint>

#include "app/plan/sheet.hpp"
#include "app/plan/strategy_terms.hpp"
#include "sim/engine/machine.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::app::plan {

/// A program's operations added up, in closed form.
struct ProgramSums {
  Sheet sheet;
  HeldMemory held;
  std::int64_t held_sms = 0;
};

/// Adds up what rank 0 does. Work on the compute stream is compute or exposed; communication and copies on other
/// streams are beside kernels, unless they come before a micro-batch's first matrix product or after its last. Requires
/// a program of one role, as data-parallel strategies write it. Cost: a microsecond for each distinct collective and
/// tens of nanoseconds for each operation.
[[nodiscard]] ProgramSums add_up(program::StepProgram const& program, engine::Machine const& machine);

}  // namespace twinstep::app::plan
