#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/units.hpp"

/// A whole training job from its step: days, GPU-hours, money, energy.
namespace twinstep::reports {

// What failures and checkpoints take from a long job. All times are wall-clock seconds of the whole job.
//
// Failures come at random, at a constant rate of one in `between_failures` (M). Every `interval` (τ) of useful work
// the job writes a checkpoint, which stops it for `checkpoint` (δ). After a failure it needs `restart` (R) until it
// computes again, from its last checkpoint.

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

/// An amount in a currency, which is the user's.
struct Money {
  double amount = 0;
  std::string currency;  ///< "USD"
};

/// What a GPU costs for an hour, and since when that is so.
struct Price {
  Money per_gpu_hour;
  std::string date;  ///< "2026-11"
};

/// How often something fails and what that costs; shares of a job's time follow from the number of GPUs.
struct Reliability {
  Seconds between_failures_of_gpu;        ///< above zero
  std::string source;                     ///< of that: an option, or what a profile says
  Seconds restart;                        ///< until the job computes again
  std::optional<Seconds> checkpoint;      ///< that training stops for one; otherwise
  std::optional<BytesPerSecond> storage;  ///< takes the states of training at this rate, of the whole job
};

/// What the job is for, and by which prices it is judged.
struct Goal {
  std::optional<double> tokens;     ///< or samples, to train on
  std::optional<Seconds> deadline;  ///< from the start
  std::optional<Money> budget;
  std::optional<double> most_energy_kwh;
  std::optional<double> watts_per_gpu;  ///< of a node with all that is in it, for each of its GPUs
  double pue = 1;                       ///< power of the facility over that of its nodes
  std::optional<Reliability> reliability;
  std::optional<double> critical_batch;  ///< tokens of a global batch, beyond which larger ones buy little
};

/// One plan's step, as far as the job depends on it.
struct JobStep {
  Duration step_time;
  std::int64_t tokens = 0;  ///< of its global batch
  std::int64_t gpus = 1;
  Bytes states;  ///< that a checkpoint writes: parameters and optimizer states, once
};

/// What reaching the goal takes. Everything is of wall-clock time, lost work included.
struct Job {
  double goodput = 1;                  ///< the share of the time that is useful work
  std::optional<Failures> failures;    ///< of the job
  std::optional<Seconds> checkpoints;  ///< Daly's interval between them
  Seconds time;
  double gpu_hours = 0;
  std::optional<Money> cost;
  std::optional<double> energy_kwh;
};

/// Nothing without tokens to train on. Goodput is that of checkpoints at Daly's interval.
[[nodiscard]] std::optional<Job> job_of(JobStep const& step, Goal const& goal, std::optional<Price> const& price);

/// Whether failures leave next to nothing of the job's time to useful work: it has no end worth a number.
[[nodiscard]] bool is_lost(Job const& job);

/// By how much a job is beyond the limits of its goal; nothing where it keeps one, or there is none.
struct Misses {
  std::optional<Seconds> late;
  std::optional<Money> over_budget;
  std::optional<double> over_energy_kwh;
  [[nodiscard]] bool any() const { return late || over_budget || over_energy_kwh; }
};
[[nodiscard]] Misses misses_of(Job const& job, Goal const& goal);

}  // namespace twinstep::reports
