#include "reports/render/page_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"
#include "reports/render/chart_text.hpp"
#include "reports/render/page_parts.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

std::string paragraph(std::string_view text, std::string_view first, TextStyle const& style) {
  return text.empty() ? std::string{} : wrapped(one_line(text), first, style);
}

std::string heading(std::string_view title, TextStyle const& style) {
  return title.empty() ? std::string{} : "\n" + toned(wrapped(one_line(title), "", style), Tone::kHeader, style);
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

Table table_of(PageTable const& page_table, std::vector<ColumnKind> const& kinds,
               std::vector<std::size_t> const& shown) {
  auto columns = std::vector<Column>{};
  for (auto const i : shown)
    columns.push_back({one_line(page_table.headers[i]), kinds[i] == ColumnKind::kNumber ? Align::kRight : Align::kLeft,
                       kinds[i] != ColumnKind::kNumber});
  auto table = Table{std::move(columns)};
  for (auto const& row : page_table.rows) {
    auto cells = std::vector<Cell>{};
    for (auto const i : shown) cells.emplace_back(i < row.size() ? one_line(row[i]) : std::string{});
    table.add_row(std::move(cells));
  }
  return table;
}

/// The columns that are no sentences, in tables that fit the line one below the other; each begins with the first
/// column, which names the rows.
std::string columns_text(PageTable const& page_table, std::vector<ColumnKind> const& kinds, TextStyle const& style) {
  constexpr std::size_t kLongestWord = 24;  // that another table is made for; longer ones are cut
  auto text = std::string{};
  auto shown = std::vector<std::size_t>{0};
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    if (kinds[i] == ColumnKind::kProse) continue;
    shown.push_back(i);
    if (shown.size() == 2 || table_of(page_table, kinds, shown).uncut_width(kLongestWord) <= style.width) continue;
    shown.pop_back();
    text += table_of(page_table, kinds, shown).render(style) + "\n";
    shown = {0, i};
  }
  return text + table_of(page_table, kinds, shown).render(style);
}

/// Sentences go below the table, behind the name of their row, so that its columns stay on the line.
std::string sentences_text(PageTable const& page_table, std::vector<ColumnKind> const& kinds, TextStyle const& style) {
  auto text = std::string{};
  for (auto const& row : page_table.rows)
    for (std::size_t i = 1; i < std::min(kinds.size(), row.size()); ++i)
      if (kinds[i] == ColumnKind::kProse && !row[i].empty() && row[i] != kNoValue)
        text +=
            wrapped(fmt::format("{}: {}: {}", one_line(row.front()), one_line(page_table.headers[i]), one_line(row[i])),
                    "  ", style);
  return text;
}

std::string table_text(PageTable const& table, TextStyle const& style) {
  auto const kinds = column_kinds(table);
  if (kinds.empty()) return heading(table.title, style);
  return heading(table.title, style) + columns_text(table, kinds, style) + sentences_text(table, kinds, style);
}

std::string section_text(Section const& section, TextStyle const& style) {
  auto text = heading(section.title, style) + paragraph(section.text, "", style);
  for (auto const& chart : section.charts)
    if (chart.fold.empty())
      text += heading(chart.title, style) + paragraph(chart.text, "", style) + chart_text(chart, style);
  for (auto const& table : section.tables) text += table_text(table, style);
  return text;
}

std::string origin_text(Page const& page, TextStyle const& style) {
  auto text = std::string{};
  if (!page.facts.empty()) text += heading(kOriginTitle, style) + pairs_text(page.facts, style);
  if (!page.commands.empty()) text += heading(kCommandsTitle, style);
  for (auto const& command : page.commands) text += "  " + one_line(command) + "\n";  // whole: to be copied
  return text;
}

}  // namespace

std::string page_text(Page const& page, TextStyle const& style) {
  auto text = toned(wrapped(one_line(page.title), "", style), Tone::kHeader, style) + paragraph(page.text, "", style);
  for (auto const& warning : page.warnings) text += paragraph(warning, "  warning: ", style);
  if (!page.headlines.empty()) text += "\n" + pairs_text(page.headlines, style);
  for (auto const& section : page.sections) text += section_text(section, style);
  return text + origin_text(page, style);
}

}  // namespace twinstep::reports
