#include <algorithm>

#include <fmt/format.h>

#include "reports/pages/pages.hpp"
#include "reports/pages/sections.hpp"
#include "reports/quantity_text.hpp"
#include "reports/shell_text.hpp"

namespace twinstep::pages {
namespace {

using reports::memory_text;
using reports::Page;
using reports::percent_text;
using reports::Section;
using reports::Summary;
using reports::time_text;

constexpr std::size_t kBarWidth = 24;

std::string fit_text(Summary const& summary) {
  auto const peak = memory_text(summary.peak.total());
  if (!summary.fits) return "does not fit: " + why_it_does_not_fit(summary);
  if (summary.capacity == Bytes{}) return fmt::format("{} at the peak; the capacity is not known", peak);
  return fmt::format("fits: {} at the peak of {}, {} to spare", peak, memory_text(summary.capacity),
                     memory_text(summary.headroom()));
}

/// PyTorch's two figures, and who prints which: torchtitan's metrics max_reserved, DeepSpeed's see_memory_usage MA and
/// CA (deepspeed/runtime/utils.py), Megatron's report_memory both (megatron/training/utils.py).
std::string reserved_text(Summary const& summary) {
  return fmt::format(
      "{} with the allocator's cache, what torchtitan and nvidia-smi show; {} is allocated, max_allocated "
      "of PyTorch and Megatron, MA of DeepSpeed",
      memory_text(summary.reserved_peak.total()), memory_text(summary.peak.total()));
}

/// What a rank needs of a host's memory or drives, and whether they have it.
std::string share_text(Bytes needs, std::optional<Bytes> has) {
  auto const share = has ? fmt::format("of {}", memory_text(*has)) : "what the host has is not known";
  return fmt::format("{} a rank{}{}", memory_text(needs), has ? " " : "; ", share);
}

std::string throughput(Summary const& summary) {
  return fmt::format("{} {}/s, {} per GPU ({} {}, {} {} a step)", reports::count_text(summary.token_rate.count()),
                     summary.counted, reports::count_text(summary.token_rate_per_gpu.count()), summary.world_size,
                     summary.world_size == 1 ? "GPU" : "GPUs", reports::count_text(static_cast<double>(summary.tokens)),
                     summary.counted);
}

void add_headlines(Page& page, Summary const& summary) {
  auto const add = [&](char const* name, std::string value) { page.headlines.emplace_back(name, std::move(value)); };
  auto const& range = summary.interval;
  add("step time",
      time_text(summary.step_time) +
          (range ? fmt::format(" (nine times in ten {} to {})", time_text(range->low), time_text(range->high)) : ""));
  if (summary.tokens > 0) add("throughput", throughput(summary));
  add("utilisation", fmt::format("{} per GPU, MFU {}, HFU {}", reports::rate_text(summary.model_rate_per_gpu),
                                 percent_text(summary.mfu), percent_text(summary.hfu)));
  add("memory", fit_text(summary));
  if (summary.allocator) add("reserved", reserved_text(summary));
  if (auto warning = memory_warning(summary); !warning.empty()) add("warning", std::move(warning));
  if (summary.host_peak > Bytes{}) add("host memory", share_text(summary.host_peak, summary.host_capacity));
  if (summary.nvme_peak > Bytes{}) add("NVMe", share_text(summary.nvme_peak, summary.nvme_capacity));
  add("communication", fmt::format("{}, of which {} exposed ({} of the step)", time_text(summary.communication),
                                   time_text(summary.exposed_communication),
                                   percent_text(reports::share(summary.exposed_communication, summary.step_time))));
}

Section breakdown(Summary const& summary) {
  auto table = reports::PageTable{.headers = {"spent on", "time", "share", ""}};
  for (auto const& entry : summary.breakdown) {
    auto const part = reports::share(entry.time, summary.step_time);
    table.rows.push_back(
        {in_words(entry), time_text(entry.time), percent_text(part), reports::bar_text(part, kBarWidth)});
  }
  return {.title = fmt::format("Where the step goes: {}", summary.breakdown_rank), .tables = {std::move(table)}};
}

/// "at most 38.1 GiB in the loss, at head.backward/…": the peak is one of them, as a rule.
void add_candidates(Section& section, Summary const& summary) {
  auto const add = [&](std::string_view where, std::optional<reports::MemoryPeak> const& peak) {
    if (!peak || peak->time == summary.peak.time) return;
    section.notes.push_back(fmt::format("at most {} {}, at {}", memory_text(peak->total()), where, peak->at));
  };
  add("in the loss", summary.candidates.loss);
  add("in the rest of backward", summary.candidates.backward);
}

Section memory(Summary const& summary) {
  auto const peak = summary.peak.total();
  auto const unit = reports::memory_unit_for(peak);
  auto table = reports::PageTable{.headers = {"held for", std::string{unit.name}, "share", ""}};
  for (auto const category : reports::largest_categories(summary.peak.held)) {
    auto const bytes = summary.peak.held[static_cast<std::size_t>(category)];
    auto const part = static_cast<double>(bytes.count()) / static_cast<double>(peak.count());
    table.rows.push_back(
        {std::string{name_of(category)}, in_unit(bytes, unit), percent_text(part), reports::bar_text(part, kBarWidth)});
  }
  if (summary.allocator)
    table.rows.push_back({"used, with cache", in_unit(summary.reserved_peak.total(), unit), "", ""});
  auto section = Section{
      .title = fmt::format("Memory at its peak: {}, {} into the step", summary.peak_rank, time_text(summary.peak.time)),
      .tables = {std::move(table)}};
  if (!summary.peak.at.empty()) section.title += ", at " + summary.peak.at;
  add_candidates(section, summary);
  return section;
}

Section links(Summary const& summary) {
  auto table = reports::PageTable{.headers = {"link", "where", "carries", "at most", "busy"}};
  for (auto const& link : summary.links)
    table.rows.push_back({link.traffic.name, link.traffic.is_inter_node ? "between nodes" : "inside a node",
                          reports::traffic_text(link.traffic.bytes), reports::rate_text(link.traffic.bandwidth),
                          percent_text(link.utilisation)});
  return {.title = "Links, the busiest of each kind, one way",
          .tables = {std::move(table)},
          .notes = {fmt::format("all ranks send {} inside nodes, {} between nodes",
                                reports::traffic_text(summary.wire.intra), reports::traffic_text(summary.wire.inter))}};
}

void add_one(Page& page, Summary const& summary) {
  add_headlines(page, summary);
  if (!summary.breakdown.empty()) page.sections.push_back(breakdown(summary));
  if (!summary.stages.empty()) page.sections.push_back(stages_section(summary));
  if (summary.peak.total() > Bytes{}) page.sections.push_back(memory(summary));
  if (!summary.links.empty()) page.sections.push_back(links(summary));
  if (!summary.calibration.empty()) page.facts.emplace_back("calibration", summary.calibration);
}

Summary const& summary_of(reports::NamedSummary const& answer) {
  return std::get<Summary>(answer.answer);
}

/// None if no answer is a step that fits.
reports::NamedSummary const* fastest_that_fits(std::vector<reports::NamedSummary> const& answers) {
  auto const* fastest = static_cast<reports::NamedSummary const*>(nullptr);
  for (auto const& answer : answers) {
    auto const* const summary = std::get_if<Summary>(&answer.answer);
    if (summary == nullptr || !summary->fits) continue;
    if (fastest == nullptr || summary->step_time < summary_of(*fastest).step_time) fastest = &answer;
  }
  return fastest;
}

void add_stages_of_fastest(Page& page, std::vector<reports::NamedSummary> const& answers) {
  auto const* const fastest = fastest_that_fits(answers);
  if (fastest == nullptr || summary_of(*fastest).stages.empty()) return;
  page.sections.push_back(stages_section(summary_of(*fastest)));
  page.sections.back().title += ": " + fastest->name;
}

Section why_section(Summary const& summary, reports::Why const& why) {
  constexpr std::size_t kShownWaits = 6;
  auto entries = summary.breakdown;
  std::ranges::stable_sort(entries, std::greater{}, &reports::BreakdownEntry::time);
  entries.resize(std::min(entries.size(), kShownWaits));
  auto section = Section{.title = fmt::format("Why {} takes {}", why.title, time_text(why.step_time))};
  auto& table = section.tables.emplace_back(reports::PageTable{.headers = {"spent on", "time", "share"}});
  for (auto const& entry : entries)
    table.rows.push_back(
        {in_words(entry), time_text(entry.time), percent_text(reports::share(entry.time, summary.step_time))});
  auto const busiest = std::ranges::max_element(summary.links, {}, &reports::LinkUse::utilisation);
  if (busiest != summary.links.end())
    section.notes.push_back(fmt::format("busiest link: {}, {} one way, in use {} of the step", busiest->traffic.name,
                                        reports::rate_text(busiest->traffic.bandwidth),
                                        percent_text(busiest->utilisation)));
  section.notes.push_back(fmt::format("with communication free: {}, so communication costs {} ({})",
                                      time_text(why.without_communication), time_text(why.communication()),
                                      percent_text(reports::share(why.communication(), why.step_time))));
  return section;
}

}  // namespace

Page summary_page(std::string title, std::vector<reports::NamedSummary> const& answers) {
  auto page = Page{.title = std::move(title)};
  if (answers.size() > 1) {
    page.sections.push_back(side_by_side(answers));
    add_stages_of_fastest(page, answers);
    return page;
  }
  auto const& answer = answers.front().answer;
  if (auto const* const summary = std::get_if<Summary>(&answer))
    add_one(page, *summary);
  else
    page.headlines = {{"cannot run", why_it_is_infeasible(std::get<reports::Infeasible>(answer))}};
  return page;
}

void add_why(Page& page, Summary const& summary, reports::Why const& why) {
  page.sections.push_back(why_section(summary, why));
  page.sections.push_back({.title = "What would help " + why.title + " most, one change at a time"});
  add_changes(page.sections.back(), why);
}

void add_assumptions(Page& page, std::string_view title, std::vector<reports::Assumption> const& assumptions) {
  if (assumptions.empty()) return;
  auto& section =
      page.sections.emplace_back(Section{.title = fmt::format("Assumed for {}, as the scenario does not say", title)});
  auto& table = section.tables.emplace_back(reports::PageTable{.headers = {"assumed", "if not", "throughput"}});
  for (auto const& assumption : assumptions) {
    table.rows.push_back({assumption.what, time_text(assumption.step_time),
                          fmt::format("{:+.1f} %", (assumption.throughput - 1) * 100)});
    section.code.push_back("# " + assumption.what);
    section.code.push_back(reports::option_in_shell(assumption.otherwise));
  }
}

}  // namespace twinstep::pages
