#pragma once

#include <span>
#include <vector>

#include "strategies/parts/data_parallel.hpp"

namespace twinstep::strategies {

/// The optimizer's states for a stretch of parameters, and its update of them. AdamW keeps two moments, SGD its
/// momentum; where parameters are held below the plan's `master_type` both also keep masters, and write the parameters
/// from them.
///
/// Bytes that an update moves for a parameter, with fp32 states and gradient (in brackets with a 16-bit model copy):
///
/// - AdamW, fused: 28 (30). Parameter and moments are read and written, the gradient is read.
/// - AdamW, foreach: 80 (86). Eight passes and a temporary of 4 bytes (torch/optim/adamw.py, _multi_tensor_adamw: mul_,
///   lerp_, mul_, addcmul_, sqrt, div_, add_, addcdiv_); a 16-bit gradient is cast first, into a temporary too.
/// - AdamW, 8 bits: 16 (18). Moments of one byte, in blocks of 256 with one fp32 scale, whose 1/16 byte is not counted
///   (Dettmers et al., 8-bit Optimizers, arXiv 2110.02861); it only has a cost.
/// - SGD with momentum, fused: 20 (22); without: 12 (14), and no states.
///
/// A paged optimizer (bitsandbytes' PagedAdamW, PagedAdamW8bit) has its moments in unified memory, which the driver
/// moves to the host when the GPU is short of memory (bitsandbytes/optim/optimizer.py, get_state_buffer and
/// prefetch_state; huggingface.co/docs/bitsandbytes, "8-bit optimizers"). Here it always is: moments lie on the host,
/// and an update brings them in, a window of `kPagedElements` after the other, and takes them back. Scales and masters
/// stay. Where all would fit, nothing is moved, and the update is as fast as one that is not paged.
///
/// Before PyTorch 2.1, foreach's last add_ was an add into a second temporary (`States::has_old_foreach`).
/// Megatron and DeepSpeed copy masters to the model's parameters by a kernel of its own: 6 bytes in place of 2.
/// In host memory (CPU Adam) the update is one pass, fused.
class OptimizerStates {
 public:
  /// Who writes 16-bit parameters from their fp32 masters.
  enum class Copies : std::uint8_t { kInUpdate, kApart };

  /// States for `elements` parameters of the plan's held type, in device or host memory.
  OptimizerStates(StepContext& context, std::int64_t elements,
                  program::MemorySpace space = program::MemorySpace::kDevice, Copies copies = Copies::kInUpdate);

  /// Updates the stretch [begin, begin + elements) of the states with `gradients`, tensors that follow each other in
  /// it, and `parameters` with them, on `stream`: one of the host's if the states lie there.
  OpId update(StreamId stream, std::int64_t begin, program::Region parameters,
              std::span<program::Region const> gradients);
  OpId update(StreamId stream, std::int64_t begin, program::Region parameters, program::Region gradient) {
    return update(stream, begin, parameters, std::span{&gradient, 1});
  }
  OpId update(std::int64_t begin, program::Region parameters, program::Region gradient) {
    return update(context_.compute, begin, parameters, gradient);
  }

 private:
  [[nodiscard]] bool is_foreach() const;
  [[nodiscard]] bool is_paged() const;
  [[nodiscard]] std::int32_t bytes_per_element(program::Region parameters, DataType gradient) const;
  void add_states(std::int64_t elements);
  BufferId add(std::string_view name, std::int64_t elements, DataType type, program::MemorySpace space);
  [[nodiscard]] std::vector<program::Region> cast(StreamId stream, std::span<program::Region const> gradients);
  void make_denominators(StreamId stream, program::Region second_moment);
  OpId update_paged(StreamId stream, std::int64_t begin, program::Region parameters,
                    std::span<program::Region const> gradients);
  OpId run(StreamId stream, std::int64_t begin, program::Region parameters, std::span<program::Region const> gradients,
           std::span<program::Region const> states);

  StepContext& context_;
  program::MemorySpace space_;
  Copies copies_;
  NameId name_;
  BufferId master_;               // none in full precision
  std::vector<BufferId> states_;  // as long as the parameters
  std::vector<BufferId> scales_;  // of blocks of 8-bit states
};

/// Kernels that a multi-tensor operation launches for `tensors` tensors of `elements` altogether: at most 320 chunks of
/// 65,536 elements, and 36 tensors where there are four lists of them (ATen/native/cuda/MultiTensorApply.cuh).
[[nodiscard]] constexpr std::uint32_t multi_tensor_launches(std::int64_t elements, std::size_t tensors) {
  constexpr std::int64_t kMostElements = 320 * std::int64_t{65'536};
  constexpr std::size_t kMostTensors = 36;
  auto const by_size = static_cast<std::size_t>((elements + kMostElements - 1) / kMostElements);
  return static_cast<std::uint32_t>(std::max({std::size_t{1}, by_size, (tensors + kMostTensors - 1) / kMostTensors}));
}

}  // namespace twinstep::strategies
