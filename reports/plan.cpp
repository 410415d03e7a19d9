#include "reports/plan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

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

std::string critical_batch_warning(double batch_tokens, double critical_tokens) {
  if (batch_tokens <= critical_tokens) return {};
  return fmt::format(
      "a global batch of {} tokens is beyond the critical batch of {}: training needs about {:.2g} times the tokens "
      "that "
      "small batches need, and more replicas buy little (arXiv 1812.06162)",
      rounded(batch_tokens), rounded(critical_tokens), 1 + batch_tokens / critical_tokens);
}

std::string misses_text(Misses const& misses) {
  auto parts = std::vector<std::string>{};
  if (misses.late) parts.push_back(long_time_text(*misses.late) + " late");
  if (misses.over_budget) parts.push_back(money_text(*misses.over_budget) + " over");
  if (misses.over_energy_kwh) parts.push_back(energy_text(*misses.over_energy_kwh) + " over");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string energy_text(double kwh) {
  return kwh >= 1e6 ? fmt::format("{:.2f} GWh", kwh / 1e6) : fmt::format("{:.1f} MWh", kwh / 1e3);
}

std::string long_time_text(Seconds time) {
  auto const days = time.count() / 86'400;
  if (days >= 100) return fmt::format("{:.0f} days", days);
  if (days >= 1) return fmt::format("{:.1f} days", days);
  return fmt::format("{:.1f} hours", 24 * days);
}

std::string rounded(double amount) {
  for (auto const& [size, suffix] : {std::pair{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " K"}})
    if (amount >= size) return fmt::format("{:.3g}{}", amount / size, suffix);
  return fmt::format("{:.3g}", amount);
}

std::string money_text(Money const& money) {
  return rounded(money.amount) + " " + money.currency;
}

}  // namespace twinstep::reports
