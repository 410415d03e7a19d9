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

/// The kernels of one micro-batch of the plan on one rank, without what its strategy adds.
[[nodiscard]] ModelWork planned_work(ModelSpec const& model, Plan const& plan);

/// Which micro-batches a step is written with: all of them, or a few, of which one stands for the others
/// (`program::Repeat`).
enum class MicroBatches : std::uint8_t { kAll, kFew };

/// Compiles one optimizer step. The program depends on the model and the plan alone.
/// Cost O(operations of one rank that are written), whatever the number of ranks.
[[nodiscard]] std::variant<program::StepProgram, Infeasible> compile(ModelSpec const& model, Plan const& plan,
                                                                     MicroBatches written = MicroBatches::kAll);

/// What a rank holds all through that step: its states, as a program that does nothing. Requires that the plan divides
/// (see `find_obstacle`). Cost O(parameters of one rank).
[[nodiscard]] program::StepProgram compile_states(ModelSpec const& model, Plan const& plan);

}  // namespace twinstep::strategies
