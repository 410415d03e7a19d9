#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "reports/job_text.hpp"
#include "reports/pages/plan_sections.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using reports::gpus_text;
using reports::MinimumGpus;
using reports::PlannedStep;
using reports::Plans;
using reports::RejectedPlans;
using reports::whole_text;

/// "8 GPUs at least fit, by fsdp2, micro-batch 1×4, recompute full".
std::string with_plan(PlannedStep const& plan, std::string_view what) {
  auto text = fmt::format("{} {}, by {}, micro-batch {}×{}", gpus_text(plan.gpus), what, strategy_text(plan),
                          plan.micro_batch, plan.accumulation);
  return plan.recompute == "none" ? text : fmt::format("{}, recompute {}", text, plan.recompute);
}

/// What stands behind the plan that fits; without the plan that ends in time where it is the same.
std::string in_time(MinimumGpus const& minimum) {
  if (!minimum.meet_deadline) return fmt::format("; none of up to {} end in time", whole_text(minimum.most));
  if (io::texts_of(minimum.meet_deadline->changes) == io::texts_of(minimum.fit->changes)) return ", and end in time";
  return fmt::format("; {}", with_plan(*minimum.meet_deadline, "end in time"));
}

std::string fewest_text(MinimumGpus const& minimum, bool has_deadline) {
  auto text = minimum.fit ? with_plan(*minimum.fit, "at least fit")
                          : fmt::format("no plan fits on up to {}", gpus_text(minimum.most));
  if (minimum.fit && has_deadline) text += in_time(minimum);
  if (minimum.soonest)
    text += fmt::format("; the soonest is {} on {}", reports::long_time_text(minimum.soonest->time),
                        whole_text(minimum.soonest->gpus));
  return fmt::format("{} ({}; of numbers that divide the global batch)", text, minimum.cluster);
}

reports::Section fewest_section(Plans const& plans) {
  auto section = reports::Section{.title = "Fewest GPUs"};
  for (auto const& each : plans.minimum) section.notes.push_back(fewest_text(each, plans.goal.deadline.has_value()));
  return section;
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

reports::PageTable rejected_table(std::vector<Rejection> const& groups, bool has_clusters) {
  auto table = reports::PageTable{.headers = {"GPUs", "strategy", "of its plans the nearest"}};
  if (has_clusters) table.headers.insert(table.headers.begin(), "cluster");
  for (auto const& [cluster, strategies, gpus, nearest] : groups) {
    auto row = std::vector<std::string>{numbers_text(gpus), strategies, nearest->brief};
    if (has_clusters) row.insert(row.begin(), cluster);
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// The whole list, to be looked into.
reports::PageTable reasons_table(std::vector<RejectedPlans> const& rejected) {
  auto table = reports::PageTable{.title = "Why others were left out, by what came nearest",
                                  .headers = {"cluster", "GPUs", "strategy", "configurations", "reason"}};
  table.fold = "Each strategy on each number of GPUs";
  for (auto const& each : rejected)
    table.rows.push_back({each.cluster, whole_text(each.gpus), each.strategy, whole_text(each.count), each.reason});
  return table;
}

}  // namespace

void add_fits(reports::Page& page, Plans const& plans) {
  if (!plans.minimum.empty()) page.sections.push_back(fewest_section(plans));
  if (plans.rejected.empty()) return;
  auto const groups = grouped(plans.rejected);
  auto section = reports::Section{.title = groups.empty() ? "What does not fit" : "Strategies that do not fit"};
  if (!groups.empty()) section.tables.push_back(rejected_table(groups, plans.minimum.size() > 1));
  section.tables.push_back(reasons_table(plans.rejected));
  page.sections.push_back(std::move(section));
}

}  // namespace twinstep::pages
