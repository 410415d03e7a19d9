#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "reports/job_text.hpp"
#include "reports/pages/plan_sections.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using reports::PlannedStep;

/// A unit in which a job's time is a number from one on, if there is such a unit.
std::pair<std::string, double> job_time_unit(Seconds time) {
  for (auto const& [unit, size] : {std::pair{"days", 86'400.0}, {"hours", 3600.0}, {"min", 60.0}})
    if (time.count() >= size) return {unit, size};
  return {"s", 1};
}

double gpu_seconds(PlannedStep const& plan) {
  return to_seconds(plan.step_time).count() * static_cast<double>(plan.gpus);
}

/// The axes of time against cost: of the whole job where there is one, in money where there is a price; of a step, in
/// GPU-seconds, elsewhere.
struct Trade {
  reports::Axis time;
  reports::Axis cost;
  double time_unit = 1;  ///< in seconds

  explicit Trade(PlannedStep const& slowest) {
    if (!slowest.job) {
      time = {.name = "step time", .unit = "s"};
      cost = {.name = "a step costs", .unit = "GPU-s"};
      return;
    }
    auto const [unit, size] = job_time_unit(slowest.job->time);
    time = {.name = "time", .unit = unit};
    time_unit = size;
    cost = {.name = "cost", .unit = slowest.job->cost ? slowest.job->cost->currency : "GPU-hours"};
  }
  [[nodiscard]] reports::ChartPoint point(PlannedStep const& plan) const {
    auto point = reports::ChartPoint{.x = to_seconds(plan.step_time).count(), .y = gpu_seconds(plan)};
    if (plan.job) {
      point.x = plan.job->time.count() / time_unit;
      point.y = plan.job->cost ? plan.job->cost->amount : plan.job->gpu_hours;
    }
    point.note = fmt::format("{} of {}, {}, micro-batch {}", reports::gpus_text(plan.gpus), plan.cluster,
                             strategy_text(plan), plan.micro_batch);
    return point;
  }
};

reports::Series series_of(std::string name, reports::SeriesStyle style, std::vector<PlannedStep> const& plans,
                          Trade const& trade) {
  auto series = reports::Series{.name = std::move(name), .style = style};
  for (auto const& plan : plans) series.points.push_back(trade.point(plan));
  std::ranges::stable_sort(series.points, {}, &reports::ChartPoint::x);
  return series;
}

reports::PageTable table_of(std::vector<PlannedStep> const& pareto) {
  auto const& job = pareto.front().job;
  auto table = reports::PageTable{.headers = {"cluster", "GPUs", "strategy", job ? "time" : "step",
                                              !job        ? "GPU-s a step"
                                              : job->cost ? "cost"
                                                          : "GPU-hours"}};
  for (auto const& plan : pareto)
    table.rows.push_back({plan.cluster, reports::whole_text(plan.gpus), strategy_text(plan),
                          plan.job ? reports::long_time_text(plan.job->time) : reports::time_text(plan.step_time),
                          plan.job ? cost_text(*plan.job) : reports::count_text(gpu_seconds(plan))});
  return table;
}

}  // namespace

reports::Section trade_section(reports::Plans const& plans) {
  auto section = reports::Section{.title = "None is both faster and cheaper (Pareto)"};
  if (plans.pareto.empty()) return section;
  if (plans.pareto.size() == 1) {
    section.text = fmt::format("{} of {} are both the fastest and the cheapest.",
                               reports::gpus_text(plans.pareto.front().gpus), plans.pareto.front().cluster);
    return section;
  }
  auto const trade = Trade{plans.pareto.back()};
  auto chart = reports::Chart{.id = "pareto", .title = "Time against cost"};
  chart.text = "On the line no other plan is both faster and cheaper.";
  chart.x = trade.time;
  chart.y = trade.cost;
  chart.series = {series_of("best trades", reports::SeriesStyle::kLine, plans.pareto, trade),
                  series_of("ranked plans", reports::SeriesStyle::kPoints, plans.plans, trade)};
  section.charts.push_back(std::move(chart));
  section.tables.push_back(table_of(plans.pareto));
  return section;
}

}  // namespace twinstep::pages
