#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// What a role of a step computes, pass after pass, as data. Bubbles, micro-batches in flight and memory follow from
/// it.
namespace twinstep::strategies {

/// A pass over one chunk of a role's units with one micro-batch.
struct ScheduledPass {
  enum class Kind : std::uint8_t {
    kForward,
    kBackward,       ///< the gradients of inputs and of parameters
    kInputGradient,  ///< what the stage before waits for …
    kWeightGradient  ///< … and the rest of the backward pass, any time later
  };
  Kind kind = Kind::kForward;
  std::size_t chunk = 0;
  std::int64_t micro_batch = 0;
  bool operator==(ScheduledPass const&) const = default;
};

/// In the order in which the host issues them. Each chunk runs forward before backward, with every micro-batch.
using Schedule = std::vector<ScheduledPass>;

/// Forward and backward of each micro-batch before the next: what a rank with the whole model does.
[[nodiscard]] Schedule one_after_another(std::int64_t micro_batches);

/// The same with a few micro-batches alone: the first ones, of which the last stands for those between, and the last
/// ones. All of them where that leaves nothing out.
struct FoldedSchedule {
  Schedule passes;
  std::int64_t stands_for_others = 0;  ///< a micro-batch
  std::int64_t left_out = 0;           ///< micro-batches between it and the next
};
[[nodiscard]] FoldedSchedule one_after_another_folded(std::int64_t micro_batches);

/// All forwards, then all backwards, whatever the stage. Source: Huang et al., GPipe, arXiv 1811.06965; PyTorch,
/// torch/distributed/pipelining/schedules.py, ScheduleGPipe.
[[nodiscard]] Schedule gpipe(std::int64_t micro_batches);

/// 1F1B of stage `stage` of `stages`: min(stages - stage - 1, micro_batches) forwards to warm up, then one forward and
/// one backward in turn, then the backwards that are left. At most stages - stage micro-batches are in flight. Source:
/// Narayanan et al., arXiv 2104.04473, section 2.2.1; Megatron-LM, megatron/core/pipeline_parallel/schedules.py,
/// forward_backward_pipelining_without_interleaving.
[[nodiscard]] Schedule one_forward_one_backward(std::int64_t stage, std::int64_t stages, std::int64_t micro_batches);

}  // namespace twinstep::strategies
