#pragma once

#include <memory>
#include <string_view>

#include "tests/conformance/training.hpp"
#include "tests/support/cpu_executor.hpp"

namespace twinstep::tests {

/// Ranks as threads of this process.
inline TrainingJob on_cpus(std::int64_t /*ranks*/, program::Initialiser const& initialise) {
  auto const environment = std::make_shared<cpu::Environment>(initialise);
  return {.step = [=](program::StepProgram const& step) { return cpu::run(step, *environment); },
          .read = [=](RankId rank, std::string_view name,
                      std::string_view scope) { return environment->read(rank, name, scope); }};
}

constexpr double kLarge = 16;  ///< inputs and targets that make gradients whose norm is clipped

/// Of the parameters, from training by the same optimizer on one rank with the whole global batch at once.
inline double difference_from_one_rank(strategies::Plan const& plan) {
  auto const alone =
      strategies::Plan{.strategy = strategies::StrategyName::kNaive,
                       .batch = {.micro_batch = plan.batch.global_batch, .global_batch = plan.batch.global_batch},
                       .kernels = {.precision = plan.kernels.precision},
                       .states = {.optimizer = plan.states.optimizer, .clips_gradients = plan.states.clips_gradients}};
  auto const largest = plan.states.clips_gradients ? kLarge : 1;
  return largest_difference(train(plan, on_cpus, largest), train(alone, on_cpus, largest));
}

/// AdamW moves a weight by about the learning rate, 3e-4, whatever its gradient: rounding of some 1e-16 of the largest
/// gradients, which it magnifies where a gradient is small, stays far below.
inline constexpr double kRounding = 1e-9;

/// … of a transformer, by AdamW.
inline double difference_from_one_rank(strategies::ModelSpec const& model, strategies::Plan const& plan) {
  auto const alone = strategies::Plan{.strategy = strategies::StrategyName::kNaive,
                                      .batch = {.micro_batch = plan.batch.global_batch,
                                                .global_batch = plan.batch.global_batch,
                                                .sequence_length = plan.batch.sequence_length},
                                      .kernels = {.precision = plan.kernels.precision}};
  return largest_difference(train(model, plan, on_cpus), train(model, alone, on_cpus));
}

}  // namespace twinstep::tests
