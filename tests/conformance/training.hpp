#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/program/fresh_buffer.hpp"
#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

/// Training a small model for a few steps on an executor that carries data, to compare strategies with each other.
namespace twinstep::tests {

/// An executor with its memory.
struct TrainingJob {
  std::function<timeline::Timeline(program::StepProgram const&)> step;
  std::function<std::vector<double>(RankId, std::string_view name, std::string_view scope)> read;
};
/// Makes one for `ranks` ranks whose buffers begin with what `initialise` gives them.
using MakeTrainingJob = std::function<TrainingJob(std::int64_t ranks, program::Initialiser const& initialise)>;

inline constexpr int kTrainingSteps = 3;

/// The gradients of the first step, tensor after tensor, on a rank that keeps all of them (`naive`).
[[nodiscard]] std::vector<double> first_gradients(strategies::ModelSpec const& model, strategies::Plan const& plan,
                                                  MakeTrainingJob const& make);

/// The parameters after training by `plan`, tensor after tensor; checks every step's timeline, and that replicas agree
/// bit for bit.
[[nodiscard]] std::vector<double> train(strategies::ModelSpec const& model, strategies::Plan const& plan,
                                        MakeTrainingJob const& make);
/// … of a small MLP (`odd_mlp`), whose inputs and targets lie in [-largest, largest).
[[nodiscard]] std::vector<double> train(strategies::Plan const& plan, MakeTrainingJob const& make, double largest = 1);

/// … by a single rank that computes the whole global batch at once.
[[nodiscard]] std::vector<double> train_alone(std::int64_t global_batch, DataType precision,
                                              MakeTrainingJob const& make);

/// A number in [-1, 1) that depends on nothing but its arguments.
[[nodiscard]] double noise(std::uint64_t seed, std::uint64_t index);

/// What number `i` of parameter tensor `tensor` of the model is before training.
[[nodiscard]] double initial_parameter(std::size_t tensor, std::int64_t i);

/// The token at place `i` of the global batch's samples, one behind another, or the target there.
[[nodiscard]] std::int64_t token(std::string_view buffer, std::size_t i, std::int64_t vocabulary);

/// Infinite where they have different lengths or a number is NaN.
[[nodiscard]] double largest_difference(std::vector<double> const& a, std::vector<double> const& b);

}  // namespace twinstep::tests
