#include "reports/render/page_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/render/chart_text.hpp"
#include "reports/render/page_parts.hpp"
#include "reports/render/page_table_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

std::string paragraph(std::string_view text, std::string_view first, TextStyle const& style) {
  return text.empty() ? std::string{} : wrapped(one_line(text), first, style);
}

std::string heading(std::string_view title, TextStyle const& style) {
  return title.empty() ? std::string{} : "\n" + bold(wrapped(one_line(title), "", style), style);
}

/// Names in a column, values beside them. A name that is too long for a column stands above its value.
std::string pairs_text(std::vector<std::pair<std::string, std::string>> const& pairs, TextStyle const& style) {
  constexpr std::size_t kWidest = 24;
  auto column = std::size_t{0};
  for (auto const& [name, value] : pairs)
    if (auto const width = display_width(one_line(name)); width <= kWidest) column = std::max(column, width);
  auto text = std::string{};
  for (auto const& [name, value] : pairs) {
    auto label = one_line(name);
    if (display_width(label) > column) text += wrapped(std::exchange(label, ""), "  ", style);
    text += wrapped(one_line(value), "  " + label + std::string(column - display_width(label) + 2, ' '), style);
  }
  return text;
}

std::string copied_text(std::vector<std::string> const& lines) {
  auto text = std::string{};
  for (auto const& line : lines) text += "  " + one_line(line) + "\n";
  return text;
}

/// Whether all that the section has beside its text is left out or folded away.
bool is_hidden(Section const& section, Charts charts) {
  auto const has_any = !section.charts.empty() || !section.tables.empty();
  return has_any && (charts == Charts::kLeftOut || section.charts.empty()) && section.notes.empty() &&
         section.code.empty() &&
         std::ranges::none_of(section.tables, [](PageTable const& table) { return table.fold.empty(); });
}

std::string section_text(Section const& section, TextStyle const& style, Charts charts) {
  if (is_hidden(section, charts)) return {};
  auto text = heading(section.title, style) + paragraph(section.text, "", style);
  for (auto const& chart : section.charts)
    if (chart.fold.empty() && charts == Charts::kDrawn)
      text += heading(chart.title, style) + paragraph(chart.text, "", style) + chart_text(chart, style);
  for (auto const& table : section.tables)
    if (table.fold.empty()) text += heading(table.title, style) + page_table_text(table, style);
  for (auto const& note : section.notes) text += paragraph(note, "- ", style);
  return text + copied_text(section.code);
}

std::string origin_text(Page const& page, TextStyle const& style) {
  auto text = std::string{};
  if (!page.facts.empty()) text += heading(kOriginTitle, style) + pairs_text(page.facts, style);
  if (!page.commands.empty()) text += heading(kCommandsTitle, style);
  return text + copied_text(page.commands);
}

}  // namespace

std::string page_text(Page const& page, TextStyle const& style, Charts charts) {
  auto text = bold(wrapped(one_line(page.title), "", style), style) + paragraph(page.text, "", style);
  for (auto const& warning : page.warnings) text += paragraph(warning, "  warning: ", style);
  if (!page.headlines.empty()) text += "\n" + pairs_text(page.headlines, style);
  for (auto const& section : page.sections) text += section_text(section, style, charts);
  return text + origin_text(page, style);
}

}  // namespace twinstep::reports
