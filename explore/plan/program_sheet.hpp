#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "explore/plan/sheet.hpp"
#include "explore/plan/strategy_terms.hpp"
#include "sim/engine/machine.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::explore::plan {

/// A program's operations added up, in closed form.
struct ProgramSums {
  Sheet sheet;
  HeldMemory held;
  std::int64_t held_sms = 0;
};

/// What a collective takes alone on the network.
struct CollectiveTime {
  double seconds = 0;
  bool leaves_node = false;
  std::int64_t channels = 0;
};

/// Collectives of one machine whose times are known: by what is asked, and by ranks, nodes, strides and neighbours of
/// the group. The steps of a strategy at several depths have most of them in common.
using CollectiveTimes = std::map<std::tuple<CollectiveKind, program::Reduction, DataType, Bytes, std::int64_t,
                                            std::int64_t, std::int64_t, std::int64_t, std::int64_t>,
                                 CollectiveTime>;

/// Adds up what rank 0 does. Work on the compute stream is compute or exposed; communication and copies on other
/// streams are beside kernels, unless they come before a micro-batch's first matrix product or after its last. Requires
/// a program of one role, as data-parallel strategies write it. Cost: a microsecond for each distinct collective and
/// tens of nanoseconds for each operation.
[[nodiscard]] ProgramSums add_up(program::StepProgram const& program, engine::Machine const& machine,
                                 CollectiveTimes& known);

}  // namespace twinstep::explore::plan
