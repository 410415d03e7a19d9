#pragma once

#include <optional>
#include <vector>

#include "strategies/parts/activation_offload.hpp"
#include "strategies/parts/data_parallel.hpp"
#include "strategies/parts/recompute.hpp"

namespace twinstep::strategies {

/// Writes the kernels of a model into a step, unit by unit, and keeps track of which buffers their tensors lie in.
///
/// A tensor that backward needs is kept from forward on; what a unit's recomputation does not keep is made again before
/// its backward. What is kept may be in host memory meanwhile.
class Computation {
 public:
  Computation(StepContext& context, DataParallel& strategy, RecomputedUnits const& recomputed);

  /// Forward of one unit; units come in order.
  void forward(std::size_t unit);
  /// Backward of one unit; units come in reverse order.
  void backward(std::size_t unit);

 private:
  /// What is the same for every unit of one kind.
  struct Kind {
    std::vector<NameId> slots;
    std::vector<NameId> forward;  // of kernels
    std::vector<NameId> backward;
    std::vector<bool> is_used_forward;  // by slot
    std::vector<bool> is_used_backward;
  };

  [[nodiscard]] UnitWork const& work(std::size_t unit) const { return context_.model.work(context_.model.units[unit]); }
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
  void enter_module(std::size_t unit, Kernel const& kernel, Pass pass);
  void leave_module();

  StepContext& context_;
  DataParallel& strategy_;
  RecomputedUnits const& recomputed_;
  std::optional<ActivationOffload> offload_;
  std::vector<Kind> kinds_;
  std::vector<NameId> names_;                          // of units
  std::vector<std::vector<program::Region>> regions_;  // by unit, then slot: where its tensors lie now
  std::vector<program::Region> outputs_;               // by unit
  program::Region gradient_;                           // of the output of the unit whose backward comes next
  ModuleId module_;                                    // whose kernels are being written; none between modules
  Pass pass_ = Pass::kForward;                         // in which
  std::vector<program::Access> accesses_;              // scratch
};

}  // namespace twinstep::strategies
