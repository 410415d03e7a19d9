#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "sim/program/step_program.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/model/work.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// A sequence longer than the model's positions, if it is.
[[nodiscard]] std::optional<Infeasible> find_long_sequence(ModelSpec const& model, Plan const& plan);

/// What arithmetic forbids about training `model` by `plan`, if anything: batches that do not divide, a sequence longer
/// than the model's positions.
[[nodiscard]] std::optional<Infeasible> find_obstacle(ModelSpec const& model, Plan const& plan);

/// Which micro-batches a step is written with: all of them, or a few, of which one stands for the others
/// (`program::Repeat`).
enum class MicroBatches : std::uint8_t { kAll, kFew };

/// Compiles one optimizer step. The program depends on the model and the plan alone.
/// Cost O(operations of one rank that are written), whatever the number of ranks.
[[nodiscard]] std::variant<program::StepProgram, Infeasible> compile(ModelSpec const& model, Plan const& plan,
                                                                     MicroBatches written = MicroBatches::kAll);

/// The work of one sequence with its parameters alone: the kernels that read one or write its gradient, in their order,
/// without other tensors, and with nothing to compute or to launch.
[[nodiscard]] ModelWork hollow_work(ModelSpec const& model, Plan const& plan);

/// What the plan's strategy adds to a step, whatever the model computes: its step around `hollow`, without
/// recomputation and with activations on the device. All that is in it is in the plan's own step too, in this order,
/// and what its buffers hold lives as long there. Requires that the plan divides (see `find_obstacle`). Cost
/// O(parameter tensors × micro-batches).
[[nodiscard]] program::StepProgram compile_around(ModelWork hollow, Plan plan);

}  // namespace twinstep::strategies
