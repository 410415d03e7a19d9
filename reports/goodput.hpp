#pragma once

#include "sim/base/units.hpp"

/// What failures and checkpoints take from a long job. All times are wall-clock seconds of the whole job.
///
/// Failures come at random, at a constant rate of one in `between_failures` (M). Every `interval` (τ) of useful work
/// the job writes a checkpoint, which stops it for `checkpoint` (δ). After a failure it needs `restart` (R) until it
/// computes again, from its last checkpoint.
namespace twinstep::reports {

struct Failures {
  Seconds between_failures;  ///< of the whole job, above zero; that of one GPU over the number of GPUs
  Seconds checkpoint;        ///< that training stops for one checkpoint, above zero
  Seconds restart;           ///< from a failure until the job computes again, what was lost apart
};

/// √(2 δ M): where the cost of checkpoints and that of lost work, half an interval a failure, are least together.
/// Source: J. W. Young, A first order approximation to the optimum checkpoint interval, CACM 17 (9), 1974, 530-531.
[[nodiscard]] Seconds young_interval(Failures const& failures);

/// The same to higher order, which holds where checkpoints are not much shorter than the time between failures:
///
///     τ = √(2 δ M) · (1 + 1/3 · √(δ / 2M) + 1/9 · δ / 2M) - δ    for δ < 2 M, and M from there on
///
/// Source: J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, FGCS 22 (3), 2006,
/// 303-312, equation 37.
[[nodiscard]] Seconds daly_interval(Failures const& failures);

/// The part of the wall-clock time that is useful work, with a checkpoint after every `interval` of it:
///
///     τ / (M · e^(R/M) · (e^((τ + δ)/M) - 1))
///
/// Source: the same, equation 20, which also counts failures during checkpoints and restarts. Requires interval > 0.
[[nodiscard]] double goodput(Failures const& failures, Seconds interval);

}  // namespace twinstep::reports
