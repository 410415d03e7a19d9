#pragma once

#include "explore/plan/sheet.hpp"
#include "sim/engine/machine.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::explore::plan {

/// Memory of a rank beside activations.
struct HeldMemory {
  double always = 0;   ///< bytes that live all through the step: states, the GPU's context, the collective library's
  double at_turn = 0;  ///< more that lives when backward begins, and activations all are there
  double at_most = 0;  ///< most that lives at one moment, beside `always` and casts
  double casts = 0;    ///< of parameters, made in forward, which backward reads again unless modules are recomputed
  double on_host = 0;  ///< bytes of the host's memory that live all through the step
  double on_nvme = 0;
};

/// What a strategy adds to the model's kernels: the terms that depend on the strategy, its options and the ranks,
/// whatever the micro-batch and recomputation.
struct StrategyTerms {
  Sheet last;                   ///< with the last micro-batch of a step, and the update
  Sheet earlier;                ///< with each micro-batch before it
  HeldMemory once;              ///< of a step of one micro-batch
  HeldMemory repeated;          ///< of several
  double held_sms = 0;          ///< by its communication, while that runs
  std::int64_t sub_groups = 1;  ///< of the optimizer's states on drives, updated one by one
};

/// The model's own kernels for one sequence, at the depths at which strategies are compiled: what all strategies on one
/// machine have in common.
struct OwnWork {
  Sheet shallow;
  Sheet deeper;  ///< the same where the model is compiled whole
};

/// Reads micro-batch, global batch and what of training has kernels, as all strategies of one training share them.
[[nodiscard]] OwnWork own_work(strategies::ModelSpec const& model, strategies::Plan const& plan,
                               engine::Machine const& machine);

/// Reads `plan` apart from micro-batch, global batch and recomputation.
///
/// The strategy says it itself: the step is compiled at two small depths with one micro-batch and with two, each
/// program's operations are added up, and what a layer and a micro-batch add is taken on to the model's depth. Of a
/// model that is no transformer it is compiled whole. Collectives take the time that they take alone.
/// Cost: four compilations of a few layers, under a millisecond.
[[nodiscard]] StrategyTerms strategy_terms(strategies::ModelSpec const& model, strategies::Plan const& plan,
                                           engine::Machine const& machine, OwnWork const& own);

}  // namespace twinstep::explore::plan
