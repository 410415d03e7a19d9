#pragma once

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/cpu/environment.hpp"

namespace twinstep::cpu {

/// Runs one training step on real numbers and in real time: every rank is a few threads of this process.
///
/// The timeline has one track for each rank, of the steady clock from the moment when all hosts begin. `start` is
/// `arrive`, because a rank cannot see when its peers are ready. Wire bytes are those of a ring (see `exchange`), all
/// inside one node; there are no links. Results do not depend on time: the same program, environment and world give
/// the same bits. After an error the environment holds whatever had been computed, and the step does not count.
///
/// @throws InputError if the program is not supported (see `require_supported`) or ranks disagree on a communication
/// @throws program::StuckProgram if ranks wait for each other for ever
[[nodiscard]] timeline::Timeline run(program::StepProgram const& program, Environment& environment);

}  // namespace twinstep::cpu
