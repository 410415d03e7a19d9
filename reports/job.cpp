#include "reports/job.hpp"

#include <cmath>

#include "sim/base/check.hpp"

namespace twinstep::reports {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kLeastGoodput = 1e-3;

Failures failures_of(JobStep const& step, Reliability const& reliability) {
  auto const checkpoint = reliability.checkpoint.value_or(
      Seconds{reliability.storage ? static_cast<double>(step.states.count()) / reliability.storage->count() : 0});
  return {.between_failures = reliability.between_failures_of_gpu * (1 / static_cast<double>(step.gpus)),
          .checkpoint = checkpoint,
          .restart = reliability.restart};
}

}  // namespace

Seconds young_interval(Failures const& failures) {
  return Seconds{std::sqrt(2 * failures.checkpoint.count() * failures.between_failures.count())};
}

Seconds daly_interval(Failures const& failures) {
  auto const ratio = failures.checkpoint.count() / (2 * failures.between_failures.count());
  if (ratio >= 1) return failures.between_failures;
  return young_interval(failures) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - failures.checkpoint;
}

double goodput(Failures const& failures, Seconds interval) {
  TWINSTEP_CHECK(interval > Seconds{}, "work needs time between checkpoints");
  auto const mean = failures.between_failures.count();
  auto const attempt = std::expm1((interval + failures.checkpoint).count() / mean);
  return interval.count() / (mean * std::exp(failures.restart.count() / mean) * attempt);
}

std::optional<Job> job_of(JobStep const& step, Goal const& goal, std::optional<Price> const& price) {
  if (!goal.tokens) return std::nullopt;
  auto job = Job{};
  if (goal.reliability) {
    job.failures = failures_of(step, *goal.reliability);
    job.checkpoints = daly_interval(*job.failures);
    job.goodput = goodput(*job.failures, *job.checkpoints);
  }
  auto const steps = *goal.tokens / static_cast<double>(step.tokens);
  job.time = to_seconds(step.step_time) * (steps / job.goodput);
  auto const gpus = static_cast<double>(step.gpus);
  job.gpu_hours = gpus * job.time.count() / kSecondsPerHour;
  if (price) job.cost = Money{price->per_gpu_hour.amount * job.gpu_hours, price->per_gpu_hour.currency};
  if (goal.watts_per_gpu) job.energy_kwh = *goal.watts_per_gpu * goal.pue * job.gpu_hours / 1000;
  return job;
}

/// Goodput that is no number is lost too.
bool is_lost(Job const& job) {
  return !(job.goodput > kLeastGoodput);
}

Misses misses_of(Job const& job, Goal const& goal) {
  auto misses = Misses{};
  if (goal.deadline && job.time > *goal.deadline) misses.late = job.time - *goal.deadline;
  if (goal.budget && job.cost && job.cost->amount > goal.budget->amount)
    misses.over_budget = Money{job.cost->amount - goal.budget->amount, job.cost->currency};
  if (goal.most_energy_kwh && job.energy_kwh && *job.energy_kwh > *goal.most_energy_kwh)
    misses.over_energy_kwh = *job.energy_kwh - *goal.most_energy_kwh;
  return misses;
}

}  // namespace twinstep::reports
