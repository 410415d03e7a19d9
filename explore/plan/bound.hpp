#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/engine/machine.hpp"
#include "sim/program/step_program.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

/// What no simulation of a plan's step goes below: argued in docs/planning.md, held in
/// tests/property/plan_bound_test.cpp.
namespace twinstep::explore::plan {

/// What the step takes at least, and one rank holds at least at its peak.
struct Bound {
  Duration step_time;
  Bytes device;
  Bytes host;
  Bytes nvme;

  /// Both hold.
  friend Bound operator&(Bound const& a, Bound const& b) {
    return {std::max(a.step_time, b.step_time), std::max(a.device, b.device), std::max(a.host, b.host),
            std::max(a.nvme, b.nvme)};
  }
};

/// What a rank holds all through a step: states, the GPU's context, the collective library's buffers. Whatever the
/// micro-batch and what is recomputed. Its step takes no time. Cost: that of the parameters' layout.
[[nodiscard]] Bound states_bound(strategies::ModelSpec const& model, strategies::Plan const& plan,
                                 engine::Machine const& machine);

/// What the model's own kernels take for one micro-batch, and what they leave on the device for backward; whatever the
/// strategy. Cost: tens of microseconds.
[[nodiscard]] Bound micro_batch_bound(strategies::ModelSpec const& model, strategies::Plan const& plan,
                                      engine::Machine const& machine);

/// A step of so many micro-batches: one after another, each beside the states.
[[nodiscard]] Bound step_bound(Bound const& states, Bound const& micro_batch, std::int64_t micro_batches);

/// The same of a step's program, sharper: its critical path if every operation takes the time that it takes alone, and
/// what rank 0 holds in the order of issue. Cost: a tenth of a microsecond an operation.
[[nodiscard]] Bound program_bound(program::StepProgram const& program, engine::Machine const& machine,
                                  bool communication_is_free = false);

}  // namespace twinstep::explore::plan
