#include "reports/render/plan_text.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "reports/job_text.hpp"
#include "reports/quantity_text.hpp"
#include "reports/render/plan_parts.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

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
    if (cluster) cells.emplace_back(one_line(plan.cluster));
    if (gpus) cells.emplace_back(whole_text(plan.gpus));
  }
};

/// " on 512 GPUs", where all of them do.
std::string common_place(std::vector<PlannedStep> const& plans) {
  return Place{plans}.gpus ? "" : fmt::format(" on {}", gpus_text(plans.front().gpus));
}

std::string ranking(Plans const& plans, TextStyle const& style) {
  auto const place = Place{plans.plans};
  auto columns = std::vector<Column>{{"#"}};
  place.add_columns(columns);
  for (auto&& column : {Column{"strategy", Align::kLeft, true}, Column{"batch"},
                        Column{"recompute", Align::kLeft, true}, Column{"step"}})
    columns.push_back(column);
  // All plans take the same batch, so that the rate says what the step does: it goes where clusters need its place.
  if (!place.cluster) columns.push_back({plans.counted + "/s"});
  for (auto const* const name : {"MFU", "GiB"}) columns.push_back({name});
  auto table = Table{std::move(columns)};
  for (std::size_t i = 0; i < plans.plans.size(); ++i) {
    auto const& plan = plans.plans[i];
    auto cells = std::vector<Cell>{std::to_string(i + 1)};
    place.add_cells(plan, cells);
    for (auto&& text : {strategy_text(plan), fmt::format("{}×{}", plan.micro_batch, plan.accumulation), plan.recompute,
                        time_text(plan.step_time)})
      cells.emplace_back(text);
    if (!place.cluster) cells.emplace_back(count_text(plan.token_rate.count()));
    for (auto&& text : {percent_text(plan.mfu), giga(plan.peak)}) cells.emplace_back(text);
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

bool has_limits(Goal const& goal) {
  return goal.deadline || goal.budget || goal.most_energy_kwh;
}

Cell verdict_of(Job const& job, Goal const& goal) {
  auto const misses = misses_of(job, goal);
  return misses.any() ? Cell{misses_text(misses), Tone::kBad} : Cell{"reached", Tone::kGood};
}

std::string cost_text(Job const& job) {
  return job.cost ? money_text(*job.cost) : gpu_hours_text(job.gpu_hours);
}

/// Days, GPU-hours and what goal and prices add, of the plans in the ranking.
std::string jobs(Plans const& plans, TextStyle const& style) {
  auto const& shown = *plans.plans.front().job;
  auto columns = std::vector<Column>{{"#"}, {"time"}, {"GPU-hours"}};
  if (shown.cost) columns.push_back({"cost"});
  if (shown.energy_kwh) columns.push_back({"energy"});
  if (shown.failures) columns.push_back({"goodput"});
  if (has_limits(plans.goal)) columns.push_back({"goal", Align::kLeft, true});
  auto table = Table{std::move(columns)};
  for (std::size_t i = 0; i < plans.plans.size(); ++i) {
    auto const& job = *plans.plans[i].job;
    auto cells = std::vector<Cell>{std::to_string(i + 1), long_time_text(job.time), gpu_hours_text(job.gpu_hours)};
    if (shown.cost) cells.emplace_back(job.cost ? money_text(*job.cost) : std::string{kNoValue});
    if (shown.energy_kwh) cells.emplace_back(energy_text(*job.energy_kwh));
    if (shown.failures) cells.emplace_back(percent_text(job.goodput));
    if (has_limits(plans.goal)) cells.push_back(verdict_of(job, plans.goal));
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

std::string failures(PlannedStep const& plan, std::string const& source, TextStyle const& style) {
  auto const& job = *plan.job;
  return wrapped(
      fmt::format("on {} a failure every {}, a checkpoint of {} every {} (Daly, FGCS 22 (3), 2006; by Young, CACM "
                  "17 (9), 1974: {}), a restart of {}; how often: {}",
                  gpus_text(plan.gpus), long_time_text(job.failures->between_failures),
                  long_time_text(job.failures->checkpoint), long_time_text(*job.checkpoints),
                  long_time_text(young_interval(*job.failures)), long_time_text(job.failures->restart), source),
      "  ", style);
}

/// One line for all clusters, or one for each where they differ.
std::string prices(Plans const& plans, TextStyle const& style) {
  auto lines = std::vector<std::string>{};
  for (auto const& [per_gpu_hour, date] : plans.prices)
    lines.push_back(fmt::format("at {:.4g} {} a GPU-hour ({})", per_gpu_hour.amount, per_gpu_hour.currency, date));
  auto const differ = std::ranges::any_of(lines, [&](std::string const& line) { return line != lines.front(); });
  if (!differ) lines.resize(std::min<std::size_t>(1, lines.size()));
  auto text = std::string{};
  for (std::size_t i = 0; i < lines.size(); ++i)
    text +=
        wrapped(differ ? fmt::format("{} {}", one_line(plans.minimum[i].cluster), lines[i]) : lines[i], "  ", style);
  return text;
}

/// What every number of GPUs that was asked for comes to.
std::string counts(Plans const& plans, TextStyle const& style) {
  if (plans.counts.size() < 2) return {};
  auto const has_clusters = plans.minimum.size() > 1;
  auto const has_jobs = plans.goal.tokens.has_value();
  auto columns = std::vector<Column>{};
  if (has_clusters) columns.push_back({"cluster", Align::kLeft, true});
  for (auto&& column : {Column{"GPUs"}, Column{"best plan", Align::kLeft, true}, Column{"step"}})
    columns.push_back(column);
  if (has_jobs) columns.insert(columns.end(), {{"time"}, {plans.prices.empty() ? "GPU-hours" : "cost"}});
  if (has_limits(plans.goal)) columns.push_back({"goal", Align::kLeft, true});
  auto table = Table{std::move(columns)};
  for (auto const& count : plans.counts) {
    if (!count.best) continue;
    auto cells = std::vector<Cell>{};
    if (has_clusters) cells.emplace_back(one_line(count.cluster));
    for (auto&& text : {whole_text(count.gpus), strategy_text(*count.best), time_text(count.best->step_time)})
      cells.emplace_back(text);
    if (has_jobs) cells.insert(cells.end(), {long_time_text(count.best->job->time), cost_text(*count.best->job)});
    if (has_limits(plans.goal)) cells.push_back(verdict_of(*count.best->job, plans.goal));
    table.add_row(std::move(cells));
  }
  auto text = section("By number of GPUs", style);
  if (!plans.plans.empty()) text += table.render(style);
  for (auto const& count : plans.counts)
    if (!count.best)
      text += wrapped(fmt::format("{}{}: {}", gpus_text(count.gpus),
                                  has_clusters ? fmt::format(" of {}", one_line(count.cluster)) : "", count.reason),
                      "  ", style);
  return text;
}

/// Numbers of GPUs that another batch would do for, each once, whatever the cluster.
std::string other_batches(Plans const& plans, TextStyle const& style) {
  constexpr std::size_t kShownBatches = 8;
  auto parts = std::vector<std::string>{};
  for (auto const& [_, gpus, batch] : plans.other_batches)
    if (auto part = fmt::format("{} with {}", gpus_text(gpus), whole_text(batch));
        std::ranges::find(parts, part) == parts.end())
      parts.push_back(std::move(part));
  if (parts.empty()) return {};
  if (parts.size() > kShownBatches) {
    parts[kShownBatches - 1] = fmt::format("{} more (--json)", parts.size() - kShownBatches + 1);
    parts.resize(kShownBatches);
  }
  return wrapped(fmt::format("beside these, with another global batch (--set training.global_batch=…): {}",
                             fmt::join(parts, ", ")),
                 "  ", style);
}

std::string front(Plans const& plans, TextStyle const& style) {
  if (plans.counts.size() < 2 || plans.pareto.empty()) return {};
  auto text = section("None is both faster and cheaper (Pareto)", style);
  if (plans.pareto.size() == 1)
    return text + wrapped(fmt::format("{} of {} are both the fastest and the cheapest",
                                      gpus_text(plans.pareto.front().gpus), one_line(plans.pareto.front().cluster)),
                          "  ", style);
  auto const& job = plans.pareto.front().job;
  auto table = Table{{{"cluster", Align::kLeft, true},
                      {"GPUs"},
                      {"strategy", Align::kLeft, true},
                      {job ? "time" : "step"},
                      {!job        ? "GPU-s a step"
                       : job->cost ? "cost"
                                   : "GPU-hours"}}};
  for (auto const& plan : plans.pareto)
    table.add_row(
        {one_line(plan.cluster), whole_text(plan.gpus), strategy_text(plan),
         job ? long_time_text(plan.job->time) : time_text(plan.step_time),
         job ? cost_text(*plan.job) : count_text(to_seconds(plan.step_time).count() * static_cast<double>(plan.gpus))});
  return text + table.render(style);
}

/// What the answer rests on: changes of the scenario, the batch, the memory that is left free.
std::string premises(Plans const& plans, TextStyle const& style) {
  auto text = std::string{};
  for (auto const& setting : plans.settings) text += wrapped("with " + one_line(setting), "  ", style);
  auto line = fmt::format("global batch of {} {}", rounded(static_cast<double>(plans.batch_tokens)), plans.counted);
  if (plans.goal.critical_batch)
    line +=
        fmt::format(" (critical batch: {}; McCandlish et al., arXiv 1812.06162)", rounded(*plans.goal.critical_batch));
  line += fmt::format("; {:.3g} % of each GPU's memory left free (--headroom)", 100 * plans.headroom);
  text += wrapped(line, "  ", style);
  return text + wrapped(fmt::format("searched: {}", kSearched), "  ", style);
}

std::string continued(Plans const& plans, TextStyle const& style) {
  if (!std::ranges::any_of(plans.plans, &PlannedStep::is_continued)) return {};
  return wrapped("Long steps: the first micro-batches are simulated, those after are taken to repeat them.", "  ",
                 style);
}

bool is_control(char c) {
  return std::iscntrl(static_cast<unsigned char>(c)) != 0;
}

/// $'a\x1b': for words that a terminal would not only show.
std::string with_escapes(std::string_view word) {
  auto text = std::string{"$'"};
  for (auto const c : word) {
    if (is_control(c))
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      text += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string{c};
  }
  return text + "'";
}

/// A single quote in single quotes ends them, stands for itself, and begins them again.
std::string quoted_in_shell(std::string_view word) {
  if (std::ranges::any_of(word, is_control)) return with_escapes(word);
  auto text = std::string{"'"};
  for (auto const c : word) text += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return text + "'";
}

std::string pasted(PlannedStep const& plan, std::string const& command, TextStyle const& style) {
  auto text = fmt::format("{}  {}", section("The first one, step by step", style), command);
  for (auto const& setting : plan.settings) text += fmt::format(" \\\n    --set {}", quoted_in_shell(setting));
  text += '\n';
  return text;
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
  auto text = header(fmt::format("{}: {} configurations, {} simulated", one_line(plans.model),
                                 whole_text(static_cast<std::int64_t>(plans.configurations)),
                                 whole_text(static_cast<std::int64_t>(plans.simulations))),
                     style);
  text += premises(plans, style);
  for (auto const& line : plans.verdict) text += wrapped(line, "", style);
  text += counts(plans, style) + other_batches(plans, style);
  if (!plans.plans.empty()) {
    text += section(fmt::format("Plans that fit{}, by {}", common_place(plans.plans), plans.ranked_by), style) +
            ranking(plans, style) + continued(plans, style);
    if (plans.plans.front().job) {
      text += section("The whole job", style) + jobs(plans, style);
      if (plans.plans.front().job->failures)
        text += failures(plans.plans.front(), plans.goal.reliability->source, style);
      else
        text += wrapped("failures are not counted; with --checkpoint and --restart they are", "  ", style);
      text += prices(plans, style);
    }
    text += front(plans, style);
  }
  text += what_if_text(plans, style);
  text += fits_text(plans, style);
  if (!plans.plans.empty()) text += pasted(plans.plans.front(), command, style);
  return text;
}

}  // namespace twinstep::reports
