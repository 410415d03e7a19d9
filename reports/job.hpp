#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reports/goodput.hpp"
#include "sim/base/units.hpp"

/// A whole training job from its step: days, GPU-hours, money, energy.
namespace twinstep::reports {

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
