#include "reports/render/scenarios_table.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"
#include "reports/render/summary_text.hpp"

namespace twinstep::reports {

using program::MemoryCategory;

namespace {

// Columns of the memory table: categories that belong together in the reader's mind.
constexpr std::size_t kShownGroups = 5;
constexpr std::array<std::string_view, kShownGroups> kGroupTitles{"param", "grad", "optim", "activ", "gather"};

/// The column of a category, or none for the column "other".
constexpr std::size_t group_of(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::kParameters: return 0;
    case MemoryCategory::kGradients: return 1;
    case MemoryCategory::kOptimizer: return 2;
    case MemoryCategory::kActivations:
    case MemoryCategory::kLogits: return 3;
    case MemoryCategory::kGatheredParameters:
    case MemoryCategory::kBuckets: return 4;
    default: return kShownGroups;
  }
}

/// What the scenarios count, which are of one model.
std::string_view counted_by(std::vector<NamedSummary> const& scenarios) {
  for (auto const& [name, answer] : scenarios)
    if (auto const* const summary = std::get_if<Summary>(&answer)) return summary->counted;
  return Summary{}.counted;
}

std::string speed_table(std::vector<NamedSummary> const& scenarios, MemoryUnit unit, TextStyle const& style) {
  auto table = Table{{{"strategy", Align::kLeft, true},
                      {"step time"},
                      {fmt::format("{}/s/GPU", counted_by(scenarios))},
                      {"MFU"},
                      {"exposed"},
                      {fmt::format("peak {}", unit.name)},
                      {"fits", Align::kLeft}}};
  for (auto const& [name, answer] : scenarios) {
    auto const* const summary = std::get_if<Summary>(&answer);
    if (summary == nullptr) {
      auto const none = std::string{kNoValue};
      table.add_row({name, none, none, none, none, none, {"no", Tone::kBad}});
      continue;
    }
    table.add_row({name, time_text(summary->step_time), count_text(summary->token_rate_per_gpu.count()),
                   percent_text(summary->mfu), time_text(summary->exposed_communication),
                   in_unit(summary->peak.total(), unit),
                   summary->fits ? Cell{"yes", Tone::kGood} : Cell{"no", Tone::kBad}});
  }
  return table.render(style);
}

std::string memory_table(std::vector<NamedSummary> const& scenarios, MemoryUnit unit, TextStyle const& style) {
  auto columns = std::vector<Column>{{fmt::format("{} at the peak", unit.name), Align::kLeft, true}};
  for (auto const title : kGroupTitles) columns.push_back({std::string{title}});
  columns.push_back({"other"});
  columns.push_back({"total"});
  columns.push_back({"used"});
  columns.push_back({"has"});
  auto table = Table{std::move(columns)};
  for (auto const& [name, answer] : scenarios) {
    auto const* const summary = std::get_if<Summary>(&answer);
    if (summary == nullptr) continue;
    auto groups = std::array<Bytes, kShownGroups + 1>{};
    for (std::size_t i = 0; i < summary->peak.held.size(); ++i)
      groups[group_of(static_cast<MemoryCategory>(i))] += summary->peak.held[i];
    auto row = std::vector<Cell>{name};
    for (auto const bytes : groups) row.emplace_back(in_unit(bytes, unit));
    row.emplace_back(in_unit(summary->peak.total(), unit), summary->fits ? Tone::kPlain : Tone::kBad);
    row.emplace_back(summary->allocator ? in_unit(summary->reserved_peak.total(), unit) : std::string{kNoValue});
    row.emplace_back(summary->capacity > Bytes{} ? in_unit(summary->capacity, unit) : std::string{kNoValue});
    table.add_row(std::move(row));
  }
  return table.render(style);
}

std::string notes(std::vector<NamedSummary> const& scenarios, TextStyle const& style) {
  auto text = std::string{};
  for (auto const& [name, answer] : scenarios) {
    if (auto const* const infeasible = std::get_if<Infeasible>(&answer))
      text += wrapped(fmt::format("{} cannot run: {}", name, why_it_is_infeasible(*infeasible)), "  ", style);
    else if (auto const& summary = std::get<Summary>(answer); !summary.fits)
      text += wrapped(fmt::format("{} does not fit: {}", name, why_it_does_not_fit(summary)), "  ", style);
    else if (auto const warning = memory_warning(summary); !warning.empty())
      text += wrapped(fmt::format("{}: {}", name, warning), "  ", style);
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string scenarios_table(std::vector<NamedSummary> const& scenarios, TextStyle const& style) {
  auto largest = Bytes{};
  for (auto const& scenario : scenarios)
    if (auto const* const summary = std::get_if<Summary>(&scenario.answer))
      largest = std::max(largest, summary->peak.total());
  auto const unit = memory_unit_for(largest);
  auto text = speed_table(scenarios, unit, style);
  if (largest > Bytes{}) text += "\n" + memory_table(scenarios, unit, style);
  return text + notes(scenarios, style);
}

}  // namespace twinstep::reports
