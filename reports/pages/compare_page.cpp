#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "reports/compare.hpp"
#include "reports/pages/pages.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using reports::Comparison;
using reports::kNoValue;
using reports::LoneSpan;
using reports::memory_text;
using reports::Pair;
using reports::Section;
using reports::time_text;

constexpr std::size_t kShownSpans = 10;

std::string ratio_text(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : std::string{kNoValue};
}

std::string signed_time_text(Duration time) {
  return time < Duration{} ? "-" + time_text(-time) : "+" + time_text(time);
}

std::string side(timeline::Manifest const& manifest) {
  return fmt::format("{} clock; {}", name_of(manifest.clock),
                     manifest.scenario.empty() ? "no scenario stated" : manifest.scenario);
}

Section shares(Comparison const& comparison) {
  auto table = reports::PageTable{.headers = {"spent on", "a", "b", "b - a"}};
  for (auto const& row : comparison.shares)
    table.rows.push_back(
        {row.name, time_text(row.time.a), time_text(row.time.b), signed_time_text(row.time.difference())});
  return {.title = "Where the step goes", .tables = {std::move(table)}};
}

Section times(Comparison const& comparison) {
  auto const& step = comparison.step_time;
  auto const none = std::string{kNoValue};
  auto table = reports::PageTable{.headers = {"spans of", "a", "b", "b/a", "spans a", "spans b"}};
  table.rows.push_back({"step", time_text(step.a), time_text(step.b), ratio_text(step.ratio()), none, none});
  for (auto const& row : comparison.kinds)
    table.rows.push_back({std::string{name_of(row.kind)}, time_text(row.time.a), time_text(row.time.b),
                          ratio_text(row.time.ratio()), fmt::format("{}", row.spans.a),
                          fmt::format("{}", row.spans.b)});
  return {.title = "Time by kind of work", .tables = {std::move(table)}};
}

Section memory(Comparison const& comparison) {
  auto table = reports::PageTable{.headers = {"category", "a", "b", "b/a"}};
  auto const add = [&](std::string_view name, Pair<Bytes> const& bytes) {
    table.rows.push_back({std::string{name}, memory_text(bytes.a), memory_text(bytes.b), ratio_text(bytes.ratio())});
  };
  add("total", comparison.peak);
  for (auto const& row : comparison.memory) add(name_of(row.category), row.bytes);
  return {.title = "Memory at the peak", .tables = {std::move(table)}};
}

/// Whether operations of more than one role were compared.
bool has_several_roles(Comparison const& comparison) {
  auto roles = std::set<std::string_view>{};
  for (auto const& span : comparison.spans) roles.insert(span.role);
  for (auto const& span : comparison.only_a) roles.insert(span.role);
  for (auto const& span : comparison.only_b) roles.insert(span.role);
  return roles.size() > 1;
}

/// "layer.0/mlp.up"; later operations of that name say which they are: "layer.0/mlp.up #2". With several roles,
/// "stage_1: layer.0/mlp.up".
template <class SpanRow>
std::string operation_text(SpanRow const& span, bool has_roles) {
  auto text = has_roles ? span.role + ": " + span.what : span.what;
  return span.occurrence == 0 ? text : fmt::format("{} #{}", text, span.occurrence + 1);
}

Section differences(Comparison const& comparison, bool has_roles) {
  auto table = reports::PageTable{.headers = {"operation", "a", "b", "b - a", "b/a"}};
  for (auto const& span : comparison.spans) {
    if (table.rows.size() == kShownSpans || span.time.difference() == Duration{}) break;
    table.rows.push_back({operation_text(span, has_roles), time_text(span.time.a), time_text(span.time.b),
                          signed_time_text(span.time.difference()), ratio_text(span.time.ratio())});
  }
  auto const count = comparison.spans.size();
  if (table.rows.empty())
    return {.title = "Differences", .text = fmt::format("All {} matched operations take the same time.", count)};
  return {.title = fmt::format("Largest differences of {} matched operations", count), .tables = {std::move(table)}};
}

/// What only one side has.
void add_lone(reports::Page& page, std::string_view letter, std::vector<LoneSpan> const& spans,
              std::vector<std::string> const& roles, bool has_roles) {
  if (spans.empty() && roles.empty()) return;
  auto section = Section{.title = fmt::format("Only in {}", letter)};
  for (auto const& role : roles) section.notes.push_back("role " + role);
  for (std::size_t i = 0; i < std::min(kShownSpans, spans.size()); ++i)
    section.notes.push_back(fmt::format("{}, {}", time_text(spans[i].time), operation_text(spans[i], has_roles)));
  if (spans.size() > kShownSpans) section.notes.push_back(fmt::format("and {} more", spans.size() - kShownSpans));
  page.sections.push_back(std::move(section));
}

}  // namespace

reports::Page compare_page(Comparison const& comparison) {
  auto page = reports::Page{.title = "Two timelines, operation by operation",
                            .headlines = {{"a", side(comparison.manifest_a)}, {"b", side(comparison.manifest_b)}}};
  auto const has_roles = has_several_roles(comparison);
  if (!comparison.shares.empty()) page.sections.push_back(shares(comparison));
  page.sections.push_back(times(comparison));
  if (!comparison.memory.empty()) page.sections.push_back(memory(comparison));
  if (!comparison.spans.empty()) page.sections.push_back(differences(comparison, has_roles));
  add_lone(page, "a", comparison.only_a, comparison.roles_only_a, has_roles);
  add_lone(page, "b", comparison.only_b, comparison.roles_only_b, has_roles);
  return page;
}

}  // namespace twinstep::pages
