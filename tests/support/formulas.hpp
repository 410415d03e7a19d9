#pragma once

#include <cstdint>

#include "sim/base/units.hpp"

/// The textbook formulas of training, each with its source. They ignore everything that the simulator exists for
/// (overlap, latency, shapes, allocation), and serve to check it.
namespace twinstep::strategies::analytic {

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
[[nodiscard]] inline Bytes layer_activations_without_scores(TransformerShape const& shape) {
  return Bytes{34 * shape.sequence * shape.micro_batch * shape.hidden};
}
/// What attention's s × s matrix adds: 5 a s² b (equation 1, second term; softmax 2, dropout mask 1 and output 2).
[[nodiscard]] inline Bytes score_activations(TransformerShape const& shape) {
  return Bytes{5 * shape.heads * shape.sequence * shape.sequence * shape.micro_batch};
}
/// What one layer keeps with full recomputation: its input, 2 s b h (section 4.3).
[[nodiscard]] inline Bytes layer_input_activations(TransformerShape const& shape) {
  return Bytes{2 * shape.sequence * shape.micro_batch * shape.hidden};
}
/// Compute with full recomputation over compute without: forward 1, backward 2, and forward again: 4/3.
[[nodiscard]] constexpr double full_recomputation_compute_ratio() {
  return 4.0 / 3.0;
}

/// Training costs 6 operations for each parameter and token: 2 forward, 4 backward.
/// Source: Kaplan et al., arXiv 2001.08361, section 2.1.
[[nodiscard]] inline Flops training_flops(double parameters, double tokens) {
  return Flops{6 * parameters * tokens};
}

/// Time of `work` shared evenly by `ranks`, each at `rate`. Requires ranks >= 1 and rate > 0.
[[nodiscard]] inline Seconds job_time(Flops work, FlopsPerSecond rate, std::int64_t ranks = 1) {
  return Seconds{work.count() / rate.count() / static_cast<double>(ranks)};
}

/// All-reduce of `size` at bus bandwidth `bus`, for many ranks: bus bandwidth is 2 (n-1)/n · size / time, so the time
/// tends to 2 size / bus. Source: nccl-tests doc/PERFORMANCE.md. Requires bus > 0.
[[nodiscard]] inline Seconds all_reduce_time(Bytes size, BytesPerSecond bus) {
  return Seconds{2 * static_cast<double>(size.count()) / bus.count()};
}

/// Time to all-reduce the 16-bit gradients of a step over its compute time, nothing overlapped. The parameters N
/// cancel: (2 · 2 N / B) / (6 N tokens / C) = 2 C / (3 B tokens). Requires bus > 0 and tokens_per_rank > 0.
[[nodiscard]] inline double gradient_communication_ratio(FlopsPerSecond rate, BytesPerSecond bus,
                                                         double tokens_per_rank) {
  return 2 * rate.count() / (3 * bus.count() * tokens_per_rank);
}

}  // namespace twinstep::strategies::analytic
