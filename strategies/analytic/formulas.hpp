#pragma once

#include <cstdint>

#include "sim/base/units.hpp"

/// The states that papers and frameworks print for a job, each formula with its source.
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

}  // namespace twinstep::strategies::analytic
