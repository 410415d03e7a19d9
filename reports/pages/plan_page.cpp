#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "reports/job_text.hpp"
#include "reports/pages/pages.hpp"
#include "reports/pages/plan_sections.hpp"
#include "reports/quantity_text.hpp"
#include "reports/shell_text.hpp"

namespace twinstep::pages {
namespace {

using reports::Goal;
using reports::gpus_text;
using reports::Job;
using reports::kNoValue;
using reports::long_time_text;
using reports::PlannedStep;
using reports::Plans;
using reports::rounded;
using reports::Section;
using reports::whole_text;
using Cells = std::vector<std::string>;

void append(Cells& cells, std::initializer_list<std::string> more) {
  cells.insert(cells.end(), more);
}

/// "reshard after forward false", "HYBRID SHARD": names of options, whose words may then stand on several lines. An
/// underscore before a name stays.
std::string spaced(std::string text) {
  for (std::size_t i = 1; i < text.size(); ++i)
    if (text[i] == '_' && text[i - 1] != ' ') text[i] = ' ';
  return text;
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
};

/// " on 512 GPUs", where all of them do.
std::string common_place(std::vector<PlannedStep> const& plans) {
  return Place{plans}.gpus ? "" : fmt::format(" on {}", gpus_text(plans.front().gpus));
}

reports::PageTable ranking_table(Plans const& plans) {
  auto const place = Place{plans.plans};
  auto table = reports::PageTable{.headers = {"#"}};
  if (place.cluster) append(table.headers, {"cluster"});
  if (place.gpus) append(table.headers, {"GPUs"});
  append(table.headers, {"strategy", "batch", "recompute", "step"});
  // All plans take the same batch, so that the rate says what the step does: it goes where clusters need its place.
  if (!place.cluster) append(table.headers, {plans.counted + "/s"});
  append(table.headers, {"MFU", "GiB"});
  for (std::size_t i = 0; i < plans.plans.size(); ++i) {
    auto const& plan = plans.plans[i];
    auto row = Cells{std::to_string(i + 1)};
    if (place.cluster) append(row, {plan.cluster});
    if (place.gpus) append(row, {whole_text(plan.gpus)});
    append(row, {strategy_text(plan), fmt::format("{}×{}", plan.micro_batch, plan.accumulation), plan.recompute,
                 reports::time_text(plan.step_time)});
    if (!place.cluster) append(row, {reports::count_text(plan.token_rate.count())});
    append(row, {reports::percent_text(plan.mfu), reports::in_unit(plan.peak, {"GiB", Bytes{1 << 30}})});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Section ranking_section(Plans const& plans) {
  auto section = Section{.title = fmt::format("Plans that fit{}, by {}", common_place(plans.plans), plans.ranked_by)};
  if (std::ranges::any_of(plans.plans, &PlannedStep::is_continued))
    section.text = "Long steps: the first micro-batches are simulated, those after are taken to repeat them.";
  section.tables.push_back(ranking_table(plans));
  return section;
}

bool has_limits(Goal const& goal) {
  return goal.deadline || goal.budget || goal.most_energy_kwh;
}

std::string verdict_of(Job const& job, Goal const& goal) {
  auto const misses = misses_of(job, goal);
  return misses.any() ? reports::misses_text(misses) : "reached";
}

/// Days, GPU-hours and what goal and prices add, of the plans in the ranking.
reports::PageTable jobs_table(Plans const& plans) {
  auto const& shown = *plans.plans.front().job;
  auto table = reports::PageTable{.headers = {"#", "time", "GPU-hours"}};
  if (shown.cost) append(table.headers, {"cost"});
  if (shown.energy_kwh) append(table.headers, {"energy"});
  if (shown.failures) append(table.headers, {"goodput"});
  if (has_limits(plans.goal)) append(table.headers, {"goal"});
  for (std::size_t i = 0; i < plans.plans.size(); ++i) {
    if (!plans.plans[i].job) continue;
    auto const& job = *plans.plans[i].job;
    auto row = Cells{std::to_string(i + 1), long_time_text(job.time), reports::gpu_hours_text(job.gpu_hours)};
    if (shown.cost) append(row, {job.cost ? money_text(*job.cost) : std::string{kNoValue}});
    if (shown.energy_kwh) append(row, {job.energy_kwh ? reports::energy_text(*job.energy_kwh) : std::string{kNoValue}});
    if (shown.failures) append(row, {reports::percent_text(job.goodput)});
    if (has_limits(plans.goal)) append(row, {verdict_of(job, plans.goal)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string failures_text(PlannedStep const& plan, std::string const& source) {
  auto const& job = *plan.job;
  return fmt::format(
      "On {} a failure every {}, a checkpoint of {} every {} (Daly, FGCS 22 (3), 2006; by Young, CACM 17 (9), 1974: "
      "{}), a restart of {}; how often: {}",
      gpus_text(plan.gpus), long_time_text(job.failures->between_failures), long_time_text(job.failures->checkpoint),
      long_time_text(*job.checkpoints), long_time_text(young_interval(*job.failures)),
      long_time_text(job.failures->restart), source);
}

/// One sentence for all clusters, or one for each where they differ.
std::vector<std::string> prices(Plans const& plans) {
  auto texts = std::vector<std::string>{};
  for (auto const& [per_gpu_hour, date] : plans.prices)
    texts.push_back(fmt::format("at {:.4g} {} a GPU-hour ({})", per_gpu_hour.amount, per_gpu_hour.currency, date));
  auto const differ = std::ranges::any_of(texts, [&](std::string const& text) { return text != texts.front(); });
  if (!differ) texts.resize(std::min<std::size_t>(1, texts.size()));
  for (std::size_t i = 0; i < texts.size(); ++i)
    texts[i] = differ && i < plans.minimum.size() ? fmt::format("{} {}", plans.minimum[i].cluster, texts[i])
                                                  : "Priced " + texts[i];
  return texts;
}

Section jobs_section(Plans const& plans) {
  auto texts = std::vector<std::string>{};
  auto const& first = plans.plans.front();
  texts.push_back(first.job->failures
                      ? failures_text(first, plans.goal.reliability->source)
                      : "Failures are not counted: nobody said how long a checkpoint and a restart take");
  for (auto& price : prices(plans)) texts.push_back(std::move(price));
  return {.title = "The whole job", .tables = {jobs_table(plans)}, .notes = std::move(texts)};
}

/// Numbers of GPUs that another batch would do for, each once, whatever the cluster; empty without any.
std::string other_batches(Plans const& plans) {
  constexpr std::size_t kShownBatches = 8;
  auto parts = std::vector<std::string>{};
  for (auto const& [_, gpus, batch] : plans.other_batches)
    if (auto part = fmt::format("{} with {}", gpus_text(gpus), whole_text(batch));
        std::ranges::find(parts, part) == parts.end())
      parts.push_back(std::move(part));
  if (parts.empty()) return {};
  if (parts.size() > kShownBatches) {
    parts[kShownBatches - 1] = fmt::format("{} more", parts.size() - kShownBatches + 1);
    parts.resize(kShownBatches);
  }
  return fmt::format("Beside these, with another global batch (training.global_batch): {}", fmt::join(parts, ", "));
}

reports::PageTable counts_table(Plans const& plans, bool has_clusters) {
  auto const has_jobs = plans.goal.tokens.has_value();
  auto table = reports::PageTable{};
  if (has_clusters) append(table.headers, {"cluster"});
  append(table.headers, {"GPUs", "best plan", "step"});
  if (has_jobs) append(table.headers, {"time", plans.prices.empty() ? "GPU-hours" : "cost"});
  if (has_limits(plans.goal)) append(table.headers, {"goal"});
  for (auto const& count : plans.counts) {
    if (!count.best) continue;
    auto row = Cells{};
    if (has_clusters) append(row, {count.cluster});
    append(row, {whole_text(count.gpus), strategy_text(*count.best), reports::time_text(count.best->step_time)});
    auto const& job = count.best->job;
    auto const none = std::string{kNoValue};
    if (has_jobs) append(row, {job ? long_time_text(job->time) : none, job ? cost_text(*job) : none});
    if (has_limits(plans.goal)) append(row, {job ? verdict_of(*job, plans.goal) : none});
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// What every number of GPUs that was asked for comes to.
Section counts_section(Plans const& plans) {
  auto const has_clusters = plans.minimum.size() > 1;
  auto section = Section{.title = "By number of GPUs"};
  for (auto const& count : plans.counts)
    if (!count.best)
      section.notes.push_back(fmt::format("{}{}: {}", gpus_text(count.gpus),
                                          has_clusters ? fmt::format(" of {}", count.cluster) : "", count.reason));
  if (auto others = other_batches(plans); !others.empty()) section.notes.push_back(std::move(others));
  if (!plans.plans.empty()) section.tables.push_back(counts_table(plans, has_clusters));
  return section;
}

/// What the answer rests on: changes of the scenario, the batch, the memory that is left free.
std::string premises(Plans const& plans) {
  auto text =
      fmt::format("{} configurations, {} simulated", whole_text(static_cast<std::int64_t>(plans.configurations)),
                  whole_text(static_cast<std::int64_t>(plans.simulations)));
  for (auto const& change : plans.changes) text += ", with " + io::text_of(change);
  text += fmt::format("; global batch of {} {}", rounded(static_cast<double>(plans.batch_tokens)), plans.counted);
  if (plans.goal.critical_batch)
    text +=
        fmt::format(" (critical batch: {}; McCandlish et al., arXiv 1812.06162)", rounded(*plans.goal.critical_batch));
  return text + fmt::format("; {:.3g} % of each GPU's memory left free; searched: {}.", 100 * plans.headroom,
                            reports::kSearched);
}

/// How the best plan is simulated, to be pasted.
Section command_section(Plans const& plans) {
  auto section = Section{.title = "The first one, step by step"};
  section.code.push_back("twinstep simulate " + reports::shell_word(plans.scenario));
  for (auto const& change : plans.plans.front().changes) {
    section.code.back() += " \\";
    section.code.push_back("  " + reports::option_in_shell(change));
  }
  return section;
}

}  // namespace

std::string strategy_text(PlannedStep const& plan) {
  auto text = plan.strategy;
  if (plan.shard_group > 1 && plan.shard_group < plan.gpus) text += fmt::format(", groups of {}", plan.shard_group);
  if (!plan.options.empty()) text += ", " + spaced(plan.options);
  if (plan.offload != "none") text += ", offload " + plan.offload;
  return text;
}

std::string cost_text(Job const& job) {
  return job.cost ? money_text(*job.cost) : reports::gpu_hours_text(job.gpu_hours);
}

std::string numbers_text(std::vector<std::int64_t> const& numbers) {
  constexpr std::size_t kListed = 3;
  auto texts = std::vector<std::string>{};
  for (auto const number : numbers) texts.push_back(whole_text(number));
  return texts.size() > kListed ? fmt::format("{} to {}", texts.front(), texts.back())
                                : fmt::format("{}", fmt::join(texts, ", "));
}

reports::Page plan_page(Plans const& plans) {
  auto page = reports::Page{.title = "Plans for " + plans.model, .warnings = plans.warnings};
  for (auto const& verdict : plans.verdict) page.text += verdict + " ";
  page.text += premises(plans);
  if (plans.counts.size() > 1) page.sections.push_back(counts_section(plans));
  if (!plans.plans.empty()) {
    page.sections.push_back(ranking_section(plans));
    if (plans.plans.front().job) page.sections.push_back(jobs_section(plans));
    if (plans.counts.size() > 1 || plans.pareto.size() > 1) page.sections.push_back(trade_section(plans));
  }
  add_what_if(page, plans);
  add_fits(page, plans);
  if (!plans.plans.empty() && !plans.scenario.empty()) page.sections.push_back(command_section(plans));
  return page;
}

}  // namespace twinstep::pages
