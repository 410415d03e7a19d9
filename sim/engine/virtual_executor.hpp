#pragma once

#include "sim/engine/fidelity.hpp"
#include "sim/engine/machine.hpp"
#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::engine {

/// What a run leaves out.
struct RunOptions {
  Fidelity fidelity = Fidelity::kFolded;
  /// Collectives and messages take no time, wait for no rank and hold no SMs; issuing them still costs the host its
  /// time, and copies theirs. What the step takes longer with them is its exposed communication.
  bool communication_is_free = false;
  /// Otherwise the ledger lacks what the caching allocator holds beyond what is allocated: for who only asks for times.
  bool replays_allocator = true;
};

/// Runs one training step in virtual time.
///
/// Ranks that behave alike are simulated once, so the cost does not grow with the number of replicas; exact, every rank
/// and every message is simulated. Requires a well-formed program of at most as many ranks as the machine
/// has GPUs, and element types that the GPU can compute with. The same input gives the same timeline, bit for bit.
///
/// Of a folded program the whole step is told. Where the run repeats itself the micro-batches that are not written are
/// left out of the timeline (`timeline::Repeat`), and cost nothing; else they are run.
///
/// @throws program::StuckProgram if ranks wait for each other for ever
[[nodiscard]] timeline::Timeline run(program::StepProgram const& program, Machine const& machine,
                                     RunOptions options = {});

}  // namespace twinstep::engine
