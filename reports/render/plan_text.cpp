#include "reports/render/plan_text.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"

namespace twinstep::reports {
namespace {

constexpr std::size_t kShownRejections = 12;

std::string header(std::string const& text, TextStyle const& style) {
  return toned(text, Tone::kHeader, style) + "\n";
}

/// "fsdp2, reshard_after_forward false, offload activations".
std::string plan_text(PlannedStep const& plan) {
  auto text = plan.strategy;
  if (!plan.options.empty()) text += ", " + plan.options;
  if (plan.offload != "none") text += ", offload " + plan.offload;
  return text;
}

std::string giga(Bytes bytes) {
  return in_unit(bytes, {"GiB", Bytes{1 << 30}});
}

/// What tells where a plan runs, as far as plans differ: the cluster, how many of its GPUs.
struct Place {
  bool cluster = false;
  bool gpus = false;
  explicit Place(std::vector<PlannedStep> const& plans) {
    for (auto const& plan : plans) {
      cluster = cluster || plan.cluster != plans.front().cluster;
      gpus = gpus || plan.gpus != plans.front().gpus;
    }
  }
  void add_columns(std::vector<Column>& columns) const {
    if (cluster) columns.push_back({"cluster", Align::kLeft, true});
    if (gpus) columns.push_back({"GPUs"});
  }
  void add_cells(PlannedStep const& plan, std::vector<Cell>& cells) const {
    if (cluster) cells.emplace_back(plan.cluster);
    if (gpus) cells.emplace_back(std::to_string(plan.gpus));
  }
};

/// " on 512 GPUs", where all of them do.
std::string common_place(std::vector<PlannedStep> const& plans) {
  auto const gpus = plans.front().gpus;
  return Place{plans}.gpus ? "" : fmt::format(" on {} GPU{}", gpus, gpus == 1 ? "" : "s");
}

std::string ranking(Plans const& plans, TextStyle const& style) {
  auto const place = Place{plans.plans};
  auto columns = std::vector<Column>{{"#"}};
  place.add_columns(columns);
  for (auto&& column :
       {Column{"strategy", Align::kLeft, true}, Column{"group"}, Column{"batch"}, Column{"recompute", Align::kLeft},
        Column{"step"}, Column{"tokens/s"}, Column{"MFU"}, Column{"GiB"}})
    columns.push_back(column);
  auto table = Table{std::move(columns)};
  for (std::size_t i = 0; i < plans.plans.size(); ++i) {
    auto const& plan = plans.plans[i];
    auto cells = std::vector<Cell>{std::to_string(i + 1)};
    place.add_cells(plan, cells);
    for (auto&& text :
         {plan_text(plan), plan.shard_group > 1 ? std::to_string(plan.shard_group) : std::string{kNoValue},
          fmt::format("{}×{}", plan.micro_batch, plan.accumulation), plan.recompute, time_text(plan.step_time),
          count_text(plan.token_rate.count()), percent_text(plan.mfu), giga(plan.peak)})
      cells.emplace_back(text);
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

/// Days, GPU-hours and what goal and prices add.
std::string jobs(std::vector<PlannedStep> const& plans, TextStyle const& style) {
  auto const place = Place{plans};
  auto const& shown = *plans.front().job;
  auto columns = std::vector<Column>{{"#"}};
  place.add_columns(columns);
  columns.push_back({"strategy", Align::kLeft, true});
  columns.push_back({"time"});
  columns.push_back({"GPU-hours"});
  if (shown.cost) columns.push_back({"cost"});
  if (shown.energy_kwh) columns.push_back({"energy"});
  if (shown.failures) columns.push_back({"goodput"});
  auto table = Table{std::move(columns)};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    auto const& job = *plans[i].job;
    auto cells = std::vector<Cell>{std::to_string(i + 1)};
    place.add_cells(plans[i], cells);
    for (auto&& text : {plan_text(plans[i]), long_time_text(job.time), count_text(job.gpu_hours)})
      cells.emplace_back(text);
    if (shown.cost) cells.emplace_back(job.cost ? money_text(*job.cost) : std::string{kNoValue});
    if (shown.energy_kwh) cells.emplace_back(fmt::format("{} MWh", count_text(*job.energy_kwh / 1000)));
    if (shown.failures) cells.emplace_back(percent_text(job.goodput));
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

std::string failures(Job const& job) {
  return fmt::format("  a failure every {}, a checkpoint of {} every {:.0f} min\n",
                     long_time_text(job.failures->between_failures), time_text(to_duration(job.failures->checkpoint)),
                     job.checkpoints->count() / 60);
}

std::string front(Plans const& plans, TextStyle const& style) {
  if (plans.pareto.size() < 2) return {};
  auto text = "\n" + header("None is both faster and cheaper (Pareto)", style);
  if (plans.pareto.front().job) return text + jobs(plans.pareto, style);
  auto table =
      Table{{{"cluster", Align::kLeft, true}, {"GPUs"}, {"strategy", Align::kLeft, true}, {"step"}, {"GPU-s a step"}}};
  for (auto const& plan : plans.pareto)
    table.add_row({plan.cluster, std::to_string(plan.gpus), plan_text(plan), time_text(plan.step_time),
                   count_text(to_seconds(plan.step_time).count() * static_cast<double>(plan.gpus))});
  return text + table.render(style);
}

std::string minimum(Plans const& plans, TextStyle const& style) {
  auto text = std::string{};
  for (auto const& each : plans.minimum) {
    auto line = each.fit ? fmt::format("{} GPUs at least fit", *each.fit)
                         : fmt::format("no plan fits on up to {} GPUs", each.most);
    if (plans.goal.deadline)
      line += each.meet_deadline ? fmt::format(", {} end in time", *each.meet_deadline)
                                 : fmt::format(", none of up to {} end in time", each.most);
    text += wrapped(fmt::format("{} ({}; of numbers that divide the global batch)", line, each.cluster), "  ", style);
  }
  return text;
}

std::string rejections(Plans const& plans, TextStyle const& style) {
  if (plans.rejected.empty()) return {};
  auto table = Table{{{"GPUs"}, {"strategy", Align::kLeft}, {"plans"}, {"of which the nearest", Align::kLeft, true}}};
  for (std::size_t i = 0; i < std::min(plans.rejected.size(), kShownRejections); ++i) {
    auto const& each = plans.rejected[i];
    table.add_row({std::to_string(each.gpus), each.strategy,
                   each.count > 0 ? std::to_string(each.count) : std::string{kNoValue}, each.reason});
  }
  auto text = "\n" + header("Left out", style) + table.render(style);
  if (plans.rejected.size() > kShownRejections)
    text += fmt::format("… {} more (--json)\n", plans.rejected.size() - kShownRejections);
  return text;
}

/// A single quote in single quotes ends them, stands for itself, and begins them again.
std::string quoted_in_shell(std::string_view word) {
  auto text = std::string{"'"};
  for (auto const c : word) text += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return text + "'";
}

std::string pasted(PlannedStep const& plan, std::string const& command, TextStyle const& style) {
  auto text = "\n" + header("The first one, step by step", style) + "  " + command;
  for (auto const& setting : plan.settings) text += " \\\n    --set " + quoted_in_shell(setting);
  return text + "\n";
}

}  // namespace

std::string shell_text(std::string_view word) {
  auto const is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view{"/._-+,:@"}.find(c) != std::string_view::npos;
  };
  return !word.empty() && std::ranges::all_of(word, is_plain) ? std::string{word} : quoted_in_shell(word);
}

std::string plans_text(Plans const& plans, std::string const& command, TextStyle const& style) {
  auto text = header(fmt::format("{}: {} configurations, {} simulated", plans.model,
                                 fmt::group_digits(plans.configurations), plans.simulations),
                     style);
  for (auto const& line : plans.verdict) text += wrapped(line, "", style);
  if (!plans.plans.empty()) {
    text += "\n" + header("Plans that fit" + common_place(plans.plans) + ", by " + plans.ranked_by, style) +
            ranking(plans, style);
    if (plans.plans.front().job) {
      text += "\n" + header("The whole job", style) + jobs(plans.plans, style);
      if (plans.plans.front().job->failures) text += failures(*plans.plans.front().job);
      for (auto const& price : plans.prices)
        text += fmt::format("  at {:.4g} {} a GPU-hour ({})\n", price.per_gpu_hour.amount, price.per_gpu_hour.currency,
                            price.date);
    }
    text += front(plans, style);
  }
  text += "\n" + header("Fewest GPUs", style) + minimum(plans, style) + rejections(plans, style);
  if (!plans.plans.empty()) text += pasted(plans.plans.front(), command, style);
  return text;
}

}  // namespace twinstep::reports
