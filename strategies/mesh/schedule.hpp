#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategies/plan/parallel.hpp"

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

/// 1F1B over `chunks` of the model on each stage. Micro-batches go in groups of `group`: all of a group through the
/// first chunk, then through the next; backward the same from the last chunk. min(2 (stages - stage - 1) + (chunks - 1)
/// group, chunks · micro_batches) forwards warm up. Sources: Narayanan et al., section 2.2.2; Megatron-LM,
/// schedules.py, get_pp_rank_microbatches and get_schedule_table; PyTorch, ScheduleInterleaved1F1B, whose group is
/// micro_batches / max(1, micro_batches / stages).
[[nodiscard]] Schedule interleaved(std::int64_t stage, std::int64_t stages, std::int64_t chunks, std::int64_t group,
                                   std::int64_t micro_batches);

/// The same with backward split: weight gradients come `stage` passes after their input gradients, and the rest of them
/// at the end; stages - stage - 1 forwards of the last chunk warm up. Sources: Qi et al., Zero Bubble Pipeline
/// Parallelism, arXiv 2401.10241, section 2.3 (ZB-H1); PyTorch, ScheduleInterleavedZeroBubble.
[[nodiscard]] Schedule interleaved_zero_bubble(std::int64_t stage, std::int64_t stages, std::int64_t chunks,
                                               std::int64_t group, std::int64_t micro_batches);

/// Two chunks in the shape of a V: the second of stage s follows the first of the last stage in reverse order. No
/// bubble where forward, input and weight gradients take equal times. Sources: Qi et al., Pipeline Parallelism with
/// Controllable Memory, arXiv 2405.15362; PyTorch, ScheduleZBVZeroBubble.
[[nodiscard]] Schedule zero_bubble_v(std::int64_t stage, std::int64_t stages, std::int64_t micro_batches);

/// DualPipe cut in half: two chunks in a V, whose forward of one micro-batch stands before the backward of another.
/// Requires micro_batches >= 2 stages. Sources: DeepSeek-AI, DualPipe (dualpipe/dualpipev.py); PyTorch,
/// ScheduleDualPipeV. A merged forward and backward is written as one after the other.
[[nodiscard]] Schedule dual_pipe_v(std::int64_t stage, std::int64_t stages, std::int64_t micro_batches);

/// The passes of one stage of a pipeline.
[[nodiscard]] Schedule schedule_of(Pipeline const& pipeline, std::int64_t stage, std::int64_t micro_batches);

/// Which part of the model, of stages · chunks in order, chunk `chunk` of stage `stage` is.
[[nodiscard]] std::int64_t part_at(Pipeline const& pipeline, std::int64_t stage, std::int64_t chunk);
/// Where it is.
struct PartPlace {
  std::int64_t stage = 0;
  std::int64_t chunk = 0;
};
[[nodiscard]] PartPlace place_of(Pipeline const& pipeline, std::int64_t part);

}  // namespace twinstep::strategies
