#include "reports/render/summary_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"

namespace twinstep::reports {

using program::MemoryCategory;

namespace {

constexpr std::size_t kLabelWidth = 16;
constexpr std::size_t kBarWidth = 24;

/// "  label           text", wrapped.
std::string fact(std::string_view label, std::string_view text, TextStyle const& style) {
  return wrapped(text, fmt::format("  {:<{}}", label, kLabelWidth), style);
}

std::string wrapped_section(std::string_view title, TextStyle const& style) {
  return "\n" + toned(wrapped(title, "", style), Tone::kHeader, style);
}

std::string fit_text(Summary const& summary) {
  auto const peak = memory_text(summary.peak.total());
  if (!summary.fits) return "does not fit: " + why_it_does_not_fit(summary);
  if (summary.capacity == Bytes{}) return fmt::format("{} at the peak; the capacity is not known", peak);
  return fmt::format("fits: {} at the peak of {}, {} to spare", peak, memory_text(summary.capacity),
                     memory_text(summary.headroom()));
}

/// What a rank needs of a host's memory or drives, and whether they have it.
std::string share_text(Bytes needs, std::optional<Bytes> has) {
  auto const share = has ? fmt::format("of {}", memory_text(*has)) : "what the host has is not known";
  return fmt::format("{} a rank{}{}", memory_text(needs), has ? " " : "; ", share);
}

std::string speed(Summary const& summary, TextStyle const& style) {
  auto const& range = summary.interval;
  auto const in =
      range ? fmt::format(" (nine times in ten {} to {})", time_text(range->low), time_text(range->high)) : "";
  auto text = fact("step time", time_text(summary.step_time) + in, style);
  if (summary.tokens > 0)
    text += fact("throughput",
                 fmt::format("{} {}/s, {} per GPU ({} {}, {} {} a step)", count_text(summary.token_rate.count()),
                             summary.counted, count_text(summary.token_rate_per_gpu.count()), summary.world_size,
                             summary.world_size == 1 ? "GPU" : "GPUs", count_text(static_cast<double>(summary.tokens)),
                             summary.counted),
                 style);
  text += fact("utilisation",
               fmt::format("{} per GPU, MFU {}, HFU {}", rate_text(summary.model_rate_per_gpu),
                           percent_text(summary.mfu), percent_text(summary.hfu)),
               style);
  text += fact("memory", fit_text(summary), style);
  if (auto const warning = memory_warning(summary); !warning.empty()) text += fact("warning", warning, style);
  if (summary.host_peak > Bytes{})
    text += fact("host memory", share_text(summary.host_peak, summary.host_capacity), style);
  if (summary.nvme_peak > Bytes{}) text += fact("NVMe", share_text(summary.nvme_peak, summary.nvme_capacity), style);
  text += fact("communication",
               fmt::format("{}, of which {} exposed ({} of the step)", time_text(summary.communication),
                           time_text(summary.exposed_communication),
                           percent_text(share(summary.exposed_communication, summary.step_time))),
               style);
  return text;
}

/// "exposed_all_gather" as "all_gather, exposed".
std::string title_of(BreakdownEntry const& entry) {
  switch (entry.activity) {
    case Activity::kTransfer: return std::string{name_of(entry.kind.value())} + ", exposed";
    case Activity::kWaitsForRanks: return "waits for other ranks";
    case Activity::kCopy: return "copy, exposed";
    case Activity::kWaitsForHost: return "waits for the host";
    default: return breakdown_name(entry);
  }
}

std::string breakdown(Summary const& summary, TextStyle const& style) {
  auto table = Table{{{"", Align::kLeft}, {"time"}, {"share"}, {"", Align::kLeft}}};
  for (auto const& entry : summary.breakdown) {
    auto const part = share(entry.time, summary.step_time);
    table.add_row({"  " + title_of(entry), time_text(entry.time), percent_text(part), bar_text(part, kBarWidth)});
  }
  return wrapped_section(fmt::format("Where the step goes: {}", summary.breakdown_rank), style) + table.render(style);
}

/// "in the loss 38.1 GiB at head.backward/…; in backward 40.0 GiB at …": the peak is one of them, as a rule.
std::string candidates(Summary const& summary, TextStyle const& style) {
  auto parts = std::string{};
  auto const add = [&](std::string_view where, std::optional<MemoryPeak> const& peak) {
    if (!peak || peak->time == summary.peak.time) return;
    parts +=
        fmt::format("{}at most {} {}, at {}", parts.empty() ? "" : "; ", memory_text(peak->total()), where, peak->at);
  };
  add("in the loss", summary.candidates.loss);
  add("in the rest of backward", summary.candidates.backward);
  return parts.empty() ? parts : wrapped(parts, "  ", style);
}

std::string memory(Summary const& summary, TextStyle const& style) {
  auto const peak = summary.peak.total();
  auto const unit = memory_unit_for(peak);
  auto table = Table{{{"", Align::kLeft}, {std::string{unit.name}}, {"share"}, {"", Align::kLeft}}};
  for (auto const category : largest_categories(summary.peak.held)) {
    auto const bytes = summary.peak.held[static_cast<std::size_t>(category)];
    auto const part = static_cast<double>(bytes.count()) / static_cast<double>(peak.count());
    table.add_row(
        {fmt::format("  {}", name_of(category)), in_unit(bytes, unit), percent_text(part), bar_text(part, kBarWidth)});
  }
  if (summary.allocator)
    table.add_row({std::string{"  used, with cache"}, in_unit(summary.reserved_peak.total(), unit), std::string{},
                   std::string{}});
  auto where = fmt::format("Memory at its peak: {}, {} into the step", summary.peak_rank, time_text(summary.peak.time));
  if (!summary.peak.at.empty()) where += ", at " + summary.peak.at;
  return wrapped_section(where, style) + table.render(style) + candidates(summary, style);
}

std::string links(Summary const& summary, TextStyle const& style) {
  auto table = Table{{{"", Align::kLeft}, {"", Align::kLeft}, {"carries"}, {"at most"}, {"busy"}}};
  for (auto const& link : summary.links)
    table.add_row(
        {"  " + link.traffic.name, std::string{link.traffic.is_inter_node ? "between nodes" : "inside a node"},
         traffic_text(link.traffic.bytes), rate_text(link.traffic.bandwidth), percent_text(link.utilisation)});
  return wrapped_section("Links, the busiest of each kind, one way", style) + table.render(style) +
         fmt::format("  all ranks send {} inside nodes, {} between nodes\n", traffic_text(summary.wire.intra),
                     traffic_text(summary.wire.inter));
}

}  // namespace

std::string summary_text(Summary const& summary, TextStyle const& style) {
  auto text = std::string{};
  if (!summary.scenario.empty()) text += toned(wrapped(summary.scenario, "", style), Tone::kHeader, style) + "\n";
  text += speed(summary, style);
  if (!summary.breakdown.empty()) text += breakdown(summary, style);
  if (summary.peak.total() > Bytes{}) text += memory(summary, style);
  if (!summary.links.empty()) text += links(summary, style);
  if (!summary.calibration.empty()) text += "\n" + wrapped(summary.calibration, "calibration: ", style);
  return text;
}

std::string summary_text(Infeasible const& infeasible, TextStyle const& style) {
  auto text = std::string{};
  if (!infeasible.scenario.empty()) text += toned(wrapped(infeasible.scenario, "", style), Tone::kHeader, style) + "\n";
  return text + fact("cannot run", why_it_is_infeasible(infeasible), style);
}

std::string why_it_is_infeasible(Infeasible const& infeasible) {
  return infeasible.way_out.empty() ? infeasible.reason : infeasible.reason + "; " + infeasible.way_out;
}

}  // namespace twinstep::reports
