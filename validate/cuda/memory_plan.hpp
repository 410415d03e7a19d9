#pragma once

#include <vector>

#include "sim/base/ids.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::cuda {

/// Where the buffers that live inside a step lie: offsets into one piece of device memory and one of pinned host
/// memory. Persistent buffers are not in it.
struct MemoryPlan {
  std::vector<Bytes> offsets;  ///< by buffer
  Bytes device;                ///< size of the piece
  Bytes host;
};

/// Lays out the buffers of one rank so that a buffer takes the place of earlier ones only where its first operation
/// comes after every operation that touches them, by stream order, waits and host operations: then no allocator has to
/// wait for the device, and none disturbs a measurement. First fit, by address; offsets are multiples of 256 bytes.
/// Buffers of inputs are filled before the step, so nothing shares their place.
///
/// Requires a well-formed program. Cost: operations × streams, plus buffers × free pieces.
[[nodiscard]] MemoryPlan plan_memory(program::StepProgram const& program, program::Role const& role, RankId rank);

}  // namespace twinstep::cuda
