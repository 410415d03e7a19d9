#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "strategies/parts/activation_offload.hpp"
#include "strategies/parts/data_parallel.hpp"
#include "strategies/parts/recompute.hpp"

namespace twinstep::strategies {

/// A set of a role's parameters, and the strategy that keeps it.
struct ParameterSet {
  StepContext& context;
  DataParallel& strategy;
};

/// Writes the kernels of a role's units into a step, unit by unit, and keeps track of which buffers their tensors lie
/// in.
///
/// A tensor that backward needs is kept from forward on; what a unit's recomputation does not keep is made again before
/// its backward. What is kept may be in host memory meanwhile. Any number of micro-batches may be in flight, on any
/// number of chunks of the model: each has places of its own.
class Computation {
 public:
  /// `sets` must have all parameters of the units. `context` is that of one of them.
  Computation(StepContext& context, std::span<ParameterSet const> sets, RecomputedUnits const& recomputed);

  /// What follows is written for this chunk and this micro-batch, until its backward is complete.
  void begin(UnitRange chunk, std::int64_t micro_batch);
  /// Where the input of the chunk lies, if it is not the first of the model.
  void take_input(program::Region input) { flight_->input = input; }
  /// `stream` waits for what writes `region`: a kernel or a collective of the model.
  void let_wait(StreamId stream, program::Region region);
  /// Where the gradient of its output lies, if it is not the last.
  void take_output_gradient(program::Region gradient) { flight_->gradient = gradient; }
  [[nodiscard]] program::Region output() const { return flight_->outputs.back(); }
  [[nodiscard]] program::Region input_gradient() const { return flight_->gradient; }

  /// Forward of one unit; units come in order.
  void forward(std::size_t unit);
  /// Backward of one unit; units come in reverse order.
  void backward(std::size_t unit) { backward(unit, Gradients::kAll); }
  /// The part of it that the unit before waits for; units come in reverse order.
  void input_gradient(std::size_t unit) { backward(unit, Gradients::kInput); }
  /// The rest of it, any time after.
  void weight_gradient(std::size_t unit) { backward(unit, Gradients::kWeight); }
  /// The chunk's backward is complete.
  void end();

 private:
  enum class Gradients : std::uint8_t { kAll, kInput, kWeight };

  /// Where the tensors of one micro-batch on one chunk lie.
  struct Flight {
    UnitRange chunk;
    std::int64_t micro_batch = -1;                      // none: nothing is in flight here
    std::vector<std::vector<program::Region>> regions;  // by unit of the chunk, then slot
    std::vector<program::Region> outputs;               // by unit of the chunk
    program::Region input;
    program::Region gradient;  // of the output of the unit whose backward comes next
  };

  /// What is the same for every unit of one kind.
  struct Kind {
    std::vector<NameId> slots;
    std::vector<NameId> forward;  // of kernels
    std::vector<NameId> backward;
    std::vector<bool> is_used_forward;  // by slot
    std::vector<bool> is_used_backward;
    std::vector<bool> is_weight_gradient;  // of backward kernels; made when a schedule first asks
  };

  [[nodiscard]] UnitWork const& work(std::size_t unit) const { return context_.model.work(context_.model.units[unit]); }
  [[nodiscard]] std::vector<program::Region>& regions(std::size_t unit) {
    return flight_->regions[unit - flight_->chunk.first];
  }
  [[nodiscard]] program::Region& output(std::size_t unit) { return flight_->outputs[unit - flight_->chunk.first]; }
  [[nodiscard]] program::Region& input(std::size_t unit) {
    return unit == flight_->chunk.first ? flight_->input : output(unit - 1);
  }
  /// The set that the tensor behind a slot of `unit` belongs to.
  [[nodiscard]] ParameterSet const& set_of(std::size_t unit, Slot const& slot) const;
  [[nodiscard]] Kind const& kind(std::size_t unit) const {
    return kinds_[static_cast<std::size_t>(context_.model.units[unit].kind)];
  }
  [[nodiscard]] std::int32_t micro_batch() const { return static_cast<std::int32_t>(context_.micro_step); }
  void enter(std::size_t unit, Pass pass) { context_.role.enter({names_[unit], pass, micro_batch()}); }
  void place(std::size_t unit, Pass pass);
  [[nodiscard]] program::Region place(std::size_t unit, std::size_t slot, Pass pass);
  void place_again(std::size_t unit, Recomputation const& again);
  void recompute(std::size_t unit);
  void recompute_segment(std::size_t first, std::size_t last);
  void fetch_segment(std::size_t last);
  [[nodiscard]] std::vector<program::Region*> kept_on_device(std::size_t unit);
  [[nodiscard]] program::Region new_buffer(std::size_t unit, std::size_t slot);
  [[nodiscard]] program::Region data(std::size_t unit, std::size_t slot);
  OpId emit(std::size_t unit, Kernel const& kernel, NameId name, Pass pass);
  OpId communicate(UnitCollective const& collective, NameId name);
  void wait_for_collectives();
  void backward(std::size_t unit, Gradients gradients);
  void backward_kernels(std::size_t unit, Gradients gradients);
  [[nodiscard]] static bool sums_now(StepContext const& context, DataParallel const& strategy, ParameterId id);
  static OpId sum_partial(StepContext& context, DataParallel& strategy, ParameterId id, OpId made);
  [[nodiscard]] bool is_weight_gradient(std::size_t unit, std::size_t kernel);
  void enter_module(std::size_t unit, Kernel const& kernel, Pass pass);
  void leave_module();

  StepContext& context_;
  std::span<ParameterSet const> sets_;
  RecomputedUnits const& recomputed_;
  std::optional<ActivationOffload> offload_;
  std::vector<Kind> kinds_;
  std::vector<NameId> names_;  // of units
  std::deque<Flight> flights_;
  Flight* flight_ = nullptr;               // of the passes that are being written
  ParameterSet const* set_ = nullptr;      // of `module_`
  ModuleId module_;                        // whose kernels are being written; none between modules
  Pass pass_ = Pass::kForward;             // in which
  std::vector<program::Access> accesses_;  // scratch
  /// A collective of the model whose tensors no kernel has touched since.
  struct Pending {
    BufferId from;
    BufferId to;
    OpId by;
  };
  std::vector<Pending> pending_;
};

}  // namespace twinstep::strategies
