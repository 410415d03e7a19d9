#include "reports/render/compare_text.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"

namespace twinstep::reports {
namespace {

constexpr std::size_t kShownSpans = 10;

std::string ratio_text(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : std::string{kNoValue};
}

std::string signed_time_text(Duration time) {
  return time < Duration{} ? "-" + time_text(-time) : "+" + time_text(time);
}

std::string side(std::string_view letter, timeline::Manifest const& manifest, TextStyle const& style) {
  return wrapped(fmt::format("{} clock; {}", name_of(manifest.clock),
                             manifest.scenario.empty() ? "no scenario stated" : manifest.scenario),
                 fmt::format("{}: ", letter), style);
}

std::string times(Comparison const& comparison, TextStyle const& style) {
  auto table = Table{{{"time", Align::kLeft}, {"a"}, {"b"}, {"b/a"}, {"spans a"}, {"spans b"}}};
  table.add_row({std::string{"step"}, time_text(comparison.step_time.a), time_text(comparison.step_time.b),
                 ratio_text(comparison.step_time.ratio()), std::string{}, std::string{}});
  for (auto const& row : comparison.kinds)
    table.add_row({std::string{name_of(row.kind)}, time_text(row.time.a), time_text(row.time.b),
                   ratio_text(row.time.ratio()), fmt::format("{}", row.spans.a), fmt::format("{}", row.spans.b)});
  return "\n" + table.render(style);
}

std::string shares(Comparison const& comparison, TextStyle const& style) {
  if (comparison.shares.empty()) return {};
  auto table = Table{{{"where the step goes", Align::kLeft}, {"a"}, {"b"}, {"b - a"}}};
  for (auto const& row : comparison.shares)
    table.add_row({row.name, time_text(row.time.a), time_text(row.time.b), signed_time_text(row.time.difference())});
  return "\n" + table.render(style);
}

std::string memory(Comparison const& comparison, TextStyle const& style) {
  if (comparison.memory.empty()) return {};
  auto table = Table{{{"memory at the peak", Align::kLeft}, {"a"}, {"b"}, {"b/a"}}};
  auto const add = [&](std::string_view name, Pair<Bytes> const& bytes) {
    table.add_row({std::string{name}, memory_text(bytes.a), memory_text(bytes.b), ratio_text(bytes.ratio())});
  };
  add("total", comparison.peak);
  for (auto const& row : comparison.memory) add(name_of(row.category), row.bytes);
  return "\n" + table.render(style);
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

std::string differences(Comparison const& comparison, bool has_roles, TextStyle const& style) {
  auto table = Table{{{"operation", Align::kLeft, true}, {"a"}, {"b"}, {"b - a"}, {"b/a"}}};
  auto shown = std::size_t{0};
  for (auto const& span : comparison.spans) {
    if (shown == kShownSpans || span.time.difference() == Duration{}) break;
    table.add_row({operation_text(span, has_roles), time_text(span.time.a), time_text(span.time.b),
                   signed_time_text(span.time.difference()), ratio_text(span.time.ratio())});
    ++shown;
  }
  if (comparison.spans.empty()) return {};
  if (shown == 0) return fmt::format("\nAll {} matched operations take the same time.\n", comparison.spans.size());
  return section(fmt::format("Largest differences of {} matched operations", comparison.spans.size()), style) +
         table.render(style);
}

std::string lone(std::string_view letter, std::vector<LoneSpan> const& spans, std::vector<std::string> const& roles,
                 bool has_roles, TextStyle const& style) {
  auto text = std::string{};
  for (auto const& role : roles) text += fmt::format("  role {}\n", role);
  for (std::size_t i = 0; i < std::min(kShownSpans, spans.size()); ++i)
    text +=
        shortened(fmt::format("  {}, {}", time_text(spans[i].time), operation_text(spans[i], has_roles)), style.width) +
        "\n";
  if (spans.size() > kShownSpans) text += fmt::format("  and {} more\n", spans.size() - kShownSpans);
  return text.empty() ? text : section(fmt::format("Only in {}", letter), style) + text;
}

}  // namespace

std::string compare_text(Comparison const& comparison, TextStyle const& style) {
  auto const has_roles = has_several_roles(comparison);
  return side("a", comparison.manifest_a, style) + side("b", comparison.manifest_b, style) + shares(comparison, style) +
         times(comparison, style) + memory(comparison, style) + differences(comparison, has_roles, style) +
         lone("a", comparison.only_a, comparison.roles_only_a, has_roles, style) +
         lone("b", comparison.only_b, comparison.roles_only_b, has_roles, style);
}

}  // namespace twinstep::reports
