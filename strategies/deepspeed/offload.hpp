#pragma once

#include <array>
#include <optional>
#include <vector>

#include "strategies/deepspeed/checks.hpp"
#include "strategies/deepspeed/pieces.hpp"
#include "strategies/parts/optimizer.hpp"

/// ZeRO-Offload and ZeRO-Infinity: states in host memory or on NVMe. Sources: Ren et al., arXiv 2101.06840;
/// Rajbhandari et al., arXiv 2104.07857; deepspeed/runtime/zero/stage_1_and_2.py, stage3.py.
namespace twinstep::strategies {

/// Whether the plan updates on the CPU.
[[nodiscard]] bool offloads_optimizer(Plan const& plan);

/// The gradients of a rank's partition in host memory, in fp32 for the update. In the last micro-batch they are cast on
/// the GPU and copied out: 4 bytes a parameter of the partition. Micro-batches before copy them out in 16 bits, and
/// each but the first copies them in first and adds on the GPU (async_accumulate_grad_in_cpu_via_gpu): 2 bytes each
/// way. In the last micro-batch each piece is looked through before it leaves, for overflow and for the norm
/// (set_norm_for_param_grad_in_gpu, update_overflow_tracker_for_param_grad).
class HostGradients {
 public:
  HostGradients(StepContext& context, std::int64_t elements);

  /// `piece.to` names a stretch of the partition; its buffer is not looked at.
  void keep(StreamId stream, Piece const& piece);
  [[nodiscard]] program::Region whole() const { return context_.role.whole(wide_); }
  /// Once all are kept.
  [[nodiscard]] HostChecks const& checks() const { return checks_; }

 private:
  [[nodiscard]] program::Region on_device(DataType type, program::Region like);
  void look_through(StreamId stream, program::Region piece);
  void copy(StreamId stream, NameId name, program::Region from, program::Region to, Piece const& piece);

  StepContext& context_;
  BufferId wide_;
  BufferId sums_;  // over micro-batches before the last, if several are reduced
  HostChecks checks_;
  NameId out_;
  NameId in_;
  NameId add_;
  NameId cast_;
};

/// Elements of a partition that are updated together.
struct SubGroup {
  std::int64_t begin = 0;
  std::int64_t elements = 0;
};

/// The update on the CPU, after the gradients are checked and scaled there. The states lie in host memory, or are
/// brought from NVMe and written back, for Adam 16 bytes a parameter each way (gradient, master, moments), through two
/// host buffers: while one sub-group is updated, the one before is written and the next is read. The updated parameters
/// are cast on the CPU and copied to the GPU in the plan's precision. What is on NVMe only has a cost: its numbers stay
/// where they were.
class CpuOptimizer {
 public:
  /// `elements` of a partition, updated one of `sub_groups`, which cover it, after the other.
  CpuOptimizer(StepContext& context, std::int64_t elements, std::vector<SubGroup> sub_groups);

  /// Returns the last operation. Updates the partition with `gradients`, whose checks are exchanged on `lane`, then
  /// copies it to `parameters` on the compute stream, or, where these lie in host memory or on NVMe, leaves it there.
  OpId update(HostGradients const& gradients, Lane lane, program::Region parameters);

 private:
  void scale(program::Region gradients, program::Region norm);
  [[nodiscard]] program::Region host_parameters(program::Region parameters, std::int64_t begin);
  OpId put(program::Region updated, program::Region parameters);
  void update_from_nvme(SubGroup group, program::Region gradients, program::Region updated);

  StepContext& context_;
  std::vector<SubGroup> sub_groups_;
  std::optional<OptimizerStates> states_;  // none on NVMe
  BufferId master_;  // where the precision is that of masters: the parameters that the CPU updates
  BufferId on_nvme_;
  std::array<BufferId, 2> windows_;
  std::array<OpId, 2> written_;
  std::size_t window_ = 0;  // the next one
  StreamId cpu_;
  StreamId read_;
  StreamId write_;
  NameId updated_;
  NameId read_name_;
  NameId write_name_;
};

}  // namespace twinstep::strategies
