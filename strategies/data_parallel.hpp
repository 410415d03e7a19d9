#pragma once

#include <cstdint>
#include <memory>

#include "sim/program/builder.hpp"
#include "strategies/parameters.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// What a strategy works with while it writes a step.
struct StepContext {
  Plan const& plan;
  ModelWork const& model;
  Parameters const& parameters;
  program::ProgramBuilder& program;
  program::RoleBuilder& role;
  StreamId compute;
  StreamId communication;
  CommunicatorId ranks;         ///< all data-parallel ranks
  std::int64_t micro_step = 0;  ///< the micro-batch that is being written, from 0

  [[nodiscard]] bool is_first_micro_step() const { return micro_step == 0; }
  [[nodiscard]] bool is_last_micro_step() const { return micro_step == accumulation(plan) - 1; }
};

/// Where a data-parallel strategy keeps parameters and gradients, and what it communicates around the computation.
///
/// A step is written unit by unit: for each micro-batch forward in order, backward in reverse, then the update. The
/// strategy adds its own operations at the moments below. One file for each strategy; each reads like its description.
class DataParallel {
 public:
  explicit DataParallel(StepContext& context) : context_{context} {}
  DataParallel(DataParallel const&) = delete;
  DataParallel& operator=(DataParallel const&) = delete;
  virtual ~DataParallel() = default;

  /// Where the kernels of the coming unit find a parameter.
  [[nodiscard]] virtual program::Region parameter(ParameterId id) = 0;
  /// Where they put its gradient.
  [[nodiscard]] virtual program::Region gradient(ParameterId id) = 0;
  /// Whether that place already holds the sum of earlier micro-batches, to be added to.
  [[nodiscard]] virtual bool adds_to_gradients() const { return !context_.is_first_micro_step(); }

  virtual void before_forward(std::size_t /*unit*/) {}
  virtual void after_forward(std::size_t /*unit*/) {}
  virtual void before_backward(std::size_t /*unit*/) {}
  /// `by`, on the compute stream, completes the gradient of this micro-batch.
  virtual void gradient_is_ready(ParameterId /*id*/, OpId /*by*/) {}
  virtual void after_backward(std::size_t /*unit*/) {}
  /// The optimizer, and whatever must follow it.
  virtual void update() = 0;

 protected:
  StepContext& context_;
};

[[nodiscard]] std::unique_ptr<DataParallel> make_naive(StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_ddp(StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_zero1(StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_zero2(StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_zero3(StepContext& context);

}  // namespace twinstep::strategies
