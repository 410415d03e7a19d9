#pragma once

#include <cstdint>

#include "sim/base/units.hpp"

/// The textbook formulas of data-parallel training, each with its source. They ignore everything that the simulator
/// exists for (overlap, latency, shapes, allocation), and serve to check it and to sketch an answer.
namespace twinstep::strategies::analytic {

/// Which model states are divided over the data-parallel ranks. Each line includes those before it.
enum class ShardedStates : std::uint8_t {
  kNone,       ///< DDP: every rank holds all
  kOptimizer,  ///< ZeRO-1
  kGradients,  ///< ZeRO-2
  kParameters  ///< ZeRO-3
};

/// Bytes of each parameter's states. The defaults are mixed-precision Adam: 16-bit parameters and gradients, and an
/// fp32 copy, momentum and variance (ZeRO paper, section 3.1: K = 12).
struct StateBytes {
  std::int64_t parameter = 2;
  std::int64_t gradient = 2;
  std::int64_t optimizer = 12;
};

/// Model states on each of `ranks` ranks, rounded up to a byte.
/// Source: Rajbhandari et al., ZeRO, arXiv 1910.02054, figure 1.
[[nodiscard]] Bytes model_state_memory(std::int64_t parameters, std::int64_t ranks, ShardedStates sharded,
                                       StateBytes const& bytes = {});

/// What DeepSpeed's estimator is asked.
struct EstimatedStates {
  std::int64_t parameters = 0;
  std::int64_t largest_layer = 0;  ///< its parameters
  std::int64_t ranks = 1;
  std::int64_t stage = 3;  ///< 1 to 3
  bool offloads_optimizer = false;
  bool offloads_parameters = false;  ///< stage 3, and the optimizer then too
};

/// The GPU memory that it prints: below stage 3 parameters and gradients in 16 bits and 16 bytes of optimizer a
/// parameter of the own shard, at stage 3 all 18 of them cut over the ranks and the largest layer gathered, with a
/// gradient; with the optimizer on the CPU, 2 bytes a parameter of what stays.
/// Source: estimate_zero2_model_states_mem_needs in deepspeed/runtime/zero/stage_1_and_2.py and
/// estimate_zero3_model_states_mem_needs in stage3.py.
[[nodiscard]] Bytes deepspeed_estimate(EstimatedStates const& states);

/// A stack of transformer layers in 16 bits with a GELU MLP four times as wide as the hidden size and dropout, on one
/// rank. Source of all four: Korthikanti et al., arXiv 2205.05198.
struct TransformerShape {
  std::int64_t sequence = 1;
  std::int64_t micro_batch = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
};

/// Activations that one layer keeps, without the attention matrix: 34 s b h (equation 1, first term). This is what
/// remains with selective recomputation.
[[nodiscard]] Bytes layer_activations_without_scores(TransformerShape const& shape);
/// What attention's s × s matrix adds: 5 a s² b (equation 1, second term; softmax 2, dropout mask 1 and output 2).
[[nodiscard]] Bytes score_activations(TransformerShape const& shape);
/// What one layer keeps with full recomputation: its input, 2 s b h (section 4.3).
[[nodiscard]] Bytes layer_input_activations(TransformerShape const& shape);
/// Compute with full recomputation over compute without: forward 1, backward 2, and forward again: 4/3.
[[nodiscard]] constexpr double full_recomputation_compute_ratio() {
  return 4.0 / 3.0;
}

/// Training costs 6 operations for each parameter and token: 2 forward, 4 backward.
/// Source: Kaplan et al., arXiv 2001.08361, section 2.1.
[[nodiscard]] Flops training_flops(double parameters, double tokens);

/// Time of `work` shared evenly by `ranks`, each at `rate`. Requires ranks >= 1 and rate > 0.
[[nodiscard]] Seconds job_time(Flops work, FlopsPerSecond rate, std::int64_t ranks = 1);

/// All-reduce of `size` at bus bandwidth `bus`, for many ranks: bus bandwidth is 2 (n-1)/n · size / time, so the time
/// tends to 2 size / bus. Source: nccl-tests doc/PERFORMANCE.md. Requires bus > 0.
[[nodiscard]] Seconds all_reduce_time(Bytes size, BytesPerSecond bus);

/// Time to all-reduce the 16-bit gradients of a step over its compute time, nothing overlapped. The parameters N
/// cancel: (2 · 2 N / B) / (6 N tokens / C) = 2 C / (3 B tokens). Requires bus > 0 and tokens_per_rank > 0.
[[nodiscard]] double gradient_communication_ratio(FlopsPerSecond rate, BytesPerSecond bus, double tokens_per_rank);

}  // namespace twinstep::strategies::analytic
