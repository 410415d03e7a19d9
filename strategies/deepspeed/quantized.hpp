#pragma once

#include <optional>

#include "strategies/parts/communication.hpp"

/// ZeRO++: collectives on quantised numbers. Only costs: programs with them run in the simulator alone. Sources: Wang
/// et al., ZeRO++, arXiv 2306.10209; deepspeed/runtime/comm/coalesced_collectives.py, zero/partition_parameters.py.
namespace twinstep::strategies {

/// Integers with one fp32 scale for each block of them.
struct Quantized {
  program::Region values;  ///< bytes, of one number in 8 bits or two in 4
  program::Region scales;
};

/// qwZ: quantises `own` to 8 bits on `stream`, then gathers numbers and scales.
struct QuantizedGather {
  Quantized whole;
  OpId ready;
};
[[nodiscard]] QuantizedGather gather_quantized(StepContext& context, StreamId stream, Lane lane, program::Region own,
                                               std::int64_t ranks);

/// Writes `to`, in its type.
void dequantize(StepContext& context, StreamId stream, Quantized const& from, program::Region to);

/// Whether qgZ can reduce a gradient; otherwise DeepSpeed falls back to reduce-scatter.
[[nodiscard]] bool can_reduce_quantized(StepContext const& context, ParameterId id);

/// qgZ in place of reduce-scatter: numbers in 4 bits go round the inner group by all-to-all, are summed and quantised
/// again, and go round the ranks at the same place of all inner groups; the result is this rank's mean. A rank sends
/// N/2 bytes inside and N/2 over the size of the inner group outside, and scales.
[[nodiscard]] program::Region reduce_quantized(StepContext& context, StreamId stream, Lane inside,
                                               std::optional<Lane> outside, program::Region gradient);

}  // namespace twinstep::strategies
