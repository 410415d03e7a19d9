#include "reports/plan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "reports/job_text.hpp"

namespace twinstep::reports {
namespace {

double time_of(PlannedStep const& plan) {
  return plan.job ? plan.job->time.count() : to_seconds(plan.step_time).count();
}

double cost_of(PlannedStep const& plan) {
  if (!plan.job) return to_seconds(plan.step_time).count() * static_cast<double>(plan.gpus);
  return plan.job->cost ? plan.job->cost->amount : plan.job->gpu_hours;
}

}  // namespace

std::vector<PlannedStep> pareto_front(std::vector<PlannedStep> plans) {
  std::ranges::stable_sort(plans, [](PlannedStep const& a, PlannedStep const& b) {
    return std::pair{time_of(a), cost_of(a)} < std::pair{time_of(b), cost_of(b)};
  });
  auto cheapest = std::numeric_limits<double>::infinity();
  std::erase_if(plans, [&](PlannedStep const& plan) {
    if (cost_of(plan) >= cheapest) return true;
    cheapest = cost_of(plan);
    return false;
  });
  return plans;
}

std::string critical_batch_warning(double batch, double critical, std::string_view counted) {
  if (batch <= critical) return {};
  return fmt::format(
      "a global batch of {0} {3} is beyond the critical batch of {1}: training needs about {2:.2g} times the {3} "
      "that small batches need, and more replicas buy little (arXiv 1812.06162)",
      rounded(batch), rounded(critical), 1 + batch / critical, counted);
}

}  // namespace twinstep::reports
