#pragma once

#include "explore/plan/sheet.hpp"
#include "sim/engine/machine.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::explore::plan {

/// The model's own kernels for one micro-batch on one rank, and what they keep: the terms that depend on micro-batch,
/// recomputation and activation offload, whatever the strategy and the number of ranks (but for how late the latest of
/// them is, which the machine's nodes say).
struct WorkTerms {
  Sheet sheet;  ///< of one micro-batch
  /// What compute takes longer for each SM that communication holds all the time, by pass.
  double slowdown_forward = 0;
  double slowdown_backward = 0;
  Bytes kept;  ///< activations and logits on the device between forward and backward
  bool offloads_activations = false;
  bool casts_again = false;  ///< modules are recomputed, with their casts of parameters
};

/// Reads micro_batch, recompute, recompute_scope and offload.activations of `plan`, and its types and kernels.
/// Cost: tens of microseconds.
[[nodiscard]] WorkTerms work_terms(strategies::ModelSpec const& model, strategies::Plan const& plan,
                                   engine::Machine const& machine);

/// Seconds that one kernel takes alone while communication holds `held_sms`.
[[nodiscard]] double kernel_seconds(program::Work const& work, std::int64_t elements, std::int64_t held_sms,
                                    engine::Machine const& machine);

/// Rate of copies from host memory to a GPU: that of the slowest link on their way.
[[nodiscard]] BytesPerSecond host_copy_rate(engine::Machine const& machine);

}  // namespace twinstep::explore::plan
