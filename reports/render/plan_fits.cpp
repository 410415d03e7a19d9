#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "reports/job_text.hpp"
#include "reports/quantity_text.hpp"
#include "reports/render/plan_parts.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

/// "8 GPUs at least fit, by fsdp2, micro-batch 1×4, recompute full".
std::string with_plan(PlannedStep const& plan, std::string_view what) {
  auto text = fmt::format("{} {}, by {}, micro-batch {}×{}", gpus_text(plan.gpus), what, strategy_text(plan),
                          plan.micro_batch, plan.accumulation);
  return plan.recompute == "none" ? text : fmt::format("{}, recompute {}", text, plan.recompute);
}

/// What stands behind the plan that fits; without the plan that ends in time where it is the same.
std::string in_time(MinimumGpus const& minimum) {
  if (!minimum.meet_deadline) return fmt::format("; none of up to {} end in time", whole_text(minimum.most));
  if (minimum.meet_deadline->settings == minimum.fit->settings) return ", and end in time";
  return fmt::format("; {}", with_plan(*minimum.meet_deadline, "end in time"));
}

std::string minimum(Plans const& plans, TextStyle const& style) {
  auto text = std::string{};
  for (auto const& each : plans.minimum) {
    auto line =
        each.fit ? with_plan(*each.fit, "at least fit") : fmt::format("no plan fits on up to {}", gpus_text(each.most));
    if (each.fit && plans.goal.deadline) line += in_time(each);
    if (each.soonest)
      line +=
          fmt::format("; the soonest is {} on {}", long_time_text(each.soonest->time), whole_text(each.soonest->gpus));
    text += wrapped(fmt::format("{} ({}; of numbers that divide the global batch)", line, one_line(each.cluster)), "  ",
                    style);
  }
  return text;
}

/// Strategies of which no plan fits, for one reason.
struct Rejection {
  std::string cluster;
  std::string strategies;
  std::vector<std::int64_t> gpus;
  RejectedPlans const* nearest;
};

/// One for each strategy that fits nowhere on some of the GPUs, by what comes nearest there; then one for each reason.
std::vector<Rejection> grouped(std::vector<RejectedPlans> const& rejected) {
  auto by_strategy = std::vector<Rejection>{};
  for (auto const& each : rejected) {
    if (each.others_fit) continue;
    auto const known = std::ranges::find_if(by_strategy, [&](Rejection const& other) {
      return other.cluster == each.cluster && other.strategies == each.strategy;
    });
    if (known == by_strategy.end()) {
      by_strategy.push_back({each.cluster, each.strategy, {each.gpus}, &each});
      continue;
    }
    known->gpus.push_back(each.gpus);
    if (each.fullness < known->nearest->fullness) known->nearest = &each;
  }
  auto groups = std::vector<Rejection>{};
  for (auto& each : by_strategy) {
    auto const known = std::ranges::find_if(groups, [&](Rejection const& other) {
      return other.cluster == each.cluster && other.gpus == each.gpus && other.nearest->brief == each.nearest->brief;
    });
    if (known == groups.end())
      groups.push_back(std::move(each));
    else
      known->strategies += ", " + each.strategies;
  }
  return groups;
}

std::string rejections(Plans const& plans, TextStyle const& style) {
  auto const groups = grouped(plans.rejected);
  if (groups.empty()) return {};
  auto const has_clusters = plans.minimum.size() > 1;
  auto columns = std::vector<Column>{};
  if (has_clusters) columns.push_back({"cluster", Align::kLeft, true});
  for (auto&& column :
       {Column{"GPUs"}, Column{"strategy", Align::kLeft, true}, Column{"of its plans the nearest", Align::kLeft, true}})
    columns.push_back(column);
  auto table = Table{std::move(columns)};
  for (auto const& [cluster, strategies, gpus, nearest] : groups) {
    auto cells = std::vector<Cell>{};
    if (has_clusters) cells.emplace_back(cluster);
    for (auto&& text : {numbers_text(gpus), strategies, nearest->brief}) cells.emplace_back(text);
    table.add_row(std::move(cells));
  }
  return section("Strategies that do not fit", style) + table.render(style);
}

}  // namespace

std::string fits_text(Plans const& plans, TextStyle const& style) {
  return section("Fewest GPUs", style) + minimum(plans, style) + rejections(plans, style);
}

}  // namespace twinstep::reports
