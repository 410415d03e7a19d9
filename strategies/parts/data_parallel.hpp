#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/check.hpp"
#include "sim/program/builder.hpp"
#include "strategies/parts/parameters.hpp"
#include "strategies/parts/rank_groups.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// Ranks that kernels of the model communicate among, by the name that those kernels know.
struct NamedGroup {
  std::string name;  ///< "tensor"
  CommunicatorId communicator;
  StreamId stream;
};

/// Units of a role that follow each other in the model.
struct UnitRange {
  std::size_t first = 0;
  std::size_t end = 0;
  bool operator==(UnitRange const&) const = default;
};

/// The chunk that has the unit, of chunks that follow each other; none if there are none.
[[nodiscard]] inline std::optional<UnitRange> chunk_of(std::span<UnitRange const> chunks, std::size_t unit) {
  auto const found = std::ranges::find_if(chunks, [&](UnitRange chunk) { return unit < chunk.end; });
  return found == chunks.end() ? std::nullopt : std::optional{*found};
}

/// What a strategy works with while it writes one role's part of a step, for one set of its parameters. Streams beside
/// `compute` are its own to make.
struct StepContext {
  Plan const& plan;
  ModelWork const& model;        ///< the role's units
  Parameters const& parameters;  ///< of the set
  program::ProgramBuilder& program;
  program::RoleBuilder& role;
  StreamId compute;
  RankGroups& groups;              ///< that share the set
  std::int64_t const& micro_step;  ///< the micro-batch that is being written, from 0
  std::span<NamedGroup const> named_groups = {};
  std::int64_t stage = 0;                      ///< of a pipeline
  std::span<UnitRange const> chunks = {};      ///< of the role's units; to the framework each is a module of its own
  std::optional<ParameterId> tied = {};        ///< of which another stage has a copy
  std::optional<NamedGroup> model_group = {};  ///< ranks that have other parts of the model, if there are any

  [[nodiscard]] bool is_first_micro_step() const { return micro_step == 0; }
  [[nodiscard]] bool is_last_micro_step() const { return micro_step == accumulation(plan) - 1; }
  [[nodiscard]] bool is_pipelined() const { return plan.parallel.pipeline.stages > 1; }
  [[nodiscard]] NamedGroup const& group(std::string_view wanted) const {
    auto const found = std::ranges::find(named_groups, wanted, &NamedGroup::name);
    TWINSTEP_CHECK(found != named_groups.end(), "the step names every group that its model communicates in");
    return *found;
  }
  [[nodiscard]] NameId name(std::string_view text) { return program.name(text); }
  [[nodiscard]] std::size_t units() const { return model.units.size(); }
};

using program::Pass;

/// Where a data-parallel strategy keeps parameters and gradients, and what it communicates around the computation.
///
/// A step is written unit by unit: for each micro-batch forward in order, backward in reverse, then the update. The
/// strategy adds its own operations at the moments below, for one set of parameters over the ranks that share it: it
/// knows neither other sets nor other roles. One file for each strategy; each reads like its description.
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
  /// When gradients of which each tensor rank has a part (`Tensor::has_partial_gradient`) are summed.
  enum class PartialSums : std::uint8_t {
    kEachBackward,  ///< as each is made, before the strategy gets it
    kOnce           ///< all together behind the reductions, as `finished_gradient`
  };
  [[nodiscard]] virtual PartialSums partial_sums() const { return PartialSums::kOnce; }

  /// After the last backward: what is left to be reduced is, and compute comes after it.
  virtual void finish_gradients() {}
  /// Where the sum over micro-batches and ranks then lies, or this rank's shard of it in its place among the others;
  /// none where shards alone are left.
  [[nodiscard]] virtual std::optional<program::Region> finished_gradient(ParameterId /*id*/) { return std::nullopt; }
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
