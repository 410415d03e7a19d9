#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "sim/program/builder.hpp"
#include "strategies/parts/parameters.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// The ranks of a step as groups: all of them, those that share one copy of the states (neighbours), and those that
/// hold the same shard of different copies. A communicator is made when it is first asked for; where states are sharded
/// over all ranks, the shard group is all of them.
class RankGroups {
 public:
  /// `shard` must divide `ranks`.
  RankGroups(std::int64_t ranks, std::int64_t shard);

  [[nodiscard]] program::Grid const& grid() const { return grid_; }
  [[nodiscard]] std::int64_t shard_ranks() const { return shard_; }
  [[nodiscard]] std::int64_t replicas() const { return ranks_ / shard_; }
  /// Axes along which the ranks of a shard group are counted, and those of all ranks.
  [[nodiscard]] program::GridAxes shard_axes() const;
  [[nodiscard]] program::GridAxes all_axes() const;

  [[nodiscard]] CommunicatorId all(program::ProgramBuilder& program);
  [[nodiscard]] CommunicatorId shard(program::ProgramBuilder& program);
  [[nodiscard]] CommunicatorId replicate(program::ProgramBuilder& program);

 private:
  [[nodiscard]] bool is_one_group() const { return shard_ == ranks_; }

  std::int64_t ranks_;
  std::int64_t shard_;
  program::Grid grid_;  // the first of the program
  CommunicatorId all_;
  CommunicatorId shard_group_;
  CommunicatorId replicate_;
};

/// What a strategy works with while it writes a step. Streams beside `compute` are its own to make.
struct StepContext {
  Plan const& plan;
  ModelWork const& model;
  Parameters const& parameters;
  program::ProgramBuilder& program;
  program::RoleBuilder& role;
  StreamId compute;
  RankGroups groups;
  std::int64_t micro_step = 0;  ///< the micro-batch that is being written, from 0

  [[nodiscard]] bool is_first_micro_step() const { return micro_step == 0; }
  [[nodiscard]] bool is_last_micro_step() const { return micro_step == accumulation(plan) - 1; }
  [[nodiscard]] NameId name(std::string_view text) { return program.name(text); }
  [[nodiscard]] std::size_t units() const { return model.units.size(); }
};

using program::Pass;

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

  /// Where the next kernel finds a parameter.
  [[nodiscard]] virtual program::Region parameter(ParameterId id) = 0;
  /// Where it puts its gradient.
  [[nodiscard]] virtual program::Region gradient(ParameterId id) = 0;
  /// Whether that place already holds the sum of earlier micro-batches, to be added to.
  [[nodiscard]] virtual bool adds_to_gradients() const { return !context_.is_first_micro_step(); }

  virtual void begin_micro_step() {}
  /// Around a unit's forward; also around one that runs again before another unit's backward, inside a segment.
  virtual void before_forward(std::size_t /*unit*/) {}
  virtual void after_forward(std::size_t /*unit*/) {}
  /// Comes before the unit's forward is run again, where it is.
  virtual void before_backward(std::size_t /*unit*/) {}
  /// Around the kernels of one leaf module (a linear layer, a norm) in a pass, as PyTorch's module hooks fire.
  virtual void before_module(ModuleId /*module*/, Pass /*pass*/) {}
  virtual void after_module(ModuleId /*module*/, Pass /*pass*/) {}
  /// `by`, on the compute stream, completes the gradient of this micro-batch.
  virtual void gradient_is_ready(ParameterId /*id*/, OpId /*by*/) {}
  virtual void after_backward(std::size_t /*unit*/) {}
  /// The optimizer, and whatever must follow it.
  virtual void update() = 0;

 protected:
  StepContext& context_;
};

// The strategy whose options these are, which outlive it.
[[nodiscard]] std::unique_ptr<DataParallel> make_strategy(TextbookOptions const& options, StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_strategy(DdpOptions const& options, StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_strategy(Fsdp1Options const& options, StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_strategy(Fsdp2Options const& options, StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_strategy(DeepSpeedOptions const& options, StepContext& context);
[[nodiscard]] std::unique_ptr<DataParallel> make_strategy(MegatronOptions const& options, StepContext& context);

}  // namespace twinstep::strategies
