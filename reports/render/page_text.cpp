#include "reports/render/page_text.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/page/page.hpp"
#include "reports/quantity_text.hpp"
#include "reports/render/chart_text.hpp"
#include "reports/render/page_parts.hpp"
#include "reports/table.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

using Places = std::vector<std::size_t>;  ///< of columns

std::string cell_at(std::vector<std::string> const& row, std::size_t column) {
  return column < row.size() ? one_line(row[column]) : std::string{};
}

Table table_of(PageTable const& table, std::vector<ColumnKind> const& kinds, Places const& places) {
  auto columns = std::vector<Column>{};
  for (auto const i : places) {
    auto const is_number = kinds[i] == ColumnKind::kNumber;
    columns.push_back({one_line(table.headers[i]), is_number ? Align::kRight : Align::kLeft, !is_number});
  }
  auto out = Table{std::move(columns)};
  for (auto const& row : table.rows) {
    auto cells = std::vector<std::string>{};
    for (auto const i : places) cells.push_back(cell_at(row, i));
    out.add_row(std::move(cells));
  }
  return out;
}

/// Where the columns of a table stand.
struct Layout {
  std::vector<Places> tables;  ///< one below the other, each with the first column
  Places sentences;            ///< below them

  [[nodiscard]] bool is_one_table() const { return tables.size() == 1 && sentences.empty(); }
};

bool has_cell_beyond(PageTable const& table, std::size_t column, std::size_t width) {
  return std::ranges::any_of(table.rows, [&](auto const& row) { return display_width(cell_at(row, column)) > width; });
}

Layout layout_of(PageTable const& table, std::vector<ColumnKind> const& kinds, std::size_t width) {
  auto layout = Layout{.tables = {Places{0}}, .sentences = {}};
  for (std::size_t i = 1; i < table.headers.size(); ++i) {
    if (has_cell_beyond(table, i, width)) {
      layout.sentences.push_back(i);
      continue;
    }
    auto& last = layout.tables.back();
    last.push_back(i);
    if (last.size() == 2 || table_of(table, kinds, last).readable_width() <= width) continue;
    last.pop_back();
    layout.tables.push_back({0, i});
  }
  return layout;
}

std::string text_of(PageTable const& table, std::vector<ColumnKind> const& kinds, Layout const& layout,
                    TextStyle const& style) {
  auto text = std::string{};
  for (auto const& places : layout.tables)
    text += (text.empty() ? "" : "\n") + table_of(table, kinds, places).render(style);
  for (auto const& row : table.rows)
    for (auto const i : layout.sentences)
      if (auto const cell = cell_at(row, i); !cell.empty() && cell != kNoValue)
        text += wrapped(fmt::format("{}: {}: {}", cell_at(row, 0), one_line(table.headers[i]), cell), "  ", style);
  return text;
}

bool tells_rows_apart(PageTable const& table) {
  auto names = std::set<std::string>{};
  return std::ranges::all_of(table.rows, [&](auto const& row) { return names.insert(cell_at(row, 0)).second; });
}

PageTable with_numbers(PageTable table) {
  table.headers.insert(table.headers.begin(), "#");
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    table.rows[i].insert(table.rows[i].begin(), fmt::format("{}", i + 1));
  return table;
}

/// The table for lines of `style.width` columns, without its title. Columns that have no room go into further tables
/// below, and columns with a cell longer than a line below these, as sentences; each time behind the first cell of
/// their row, or its number where first cells do not tell rows apart.
std::string page_table_text(PageTable const& table, TextStyle const& style) {
  if (table.headers.empty()) return {};
  auto const kinds = column_kinds(table);
  auto const layout = layout_of(table, kinds, style.width);
  if (layout.is_one_table() || tells_rows_apart(table)) return text_of(table, kinds, layout, style);
  auto const numbered = with_numbers(table);
  auto const its_kinds = column_kinds(numbered);
  return text_of(numbered, its_kinds, layout_of(numbered, its_kinds, style.width), style);
}

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
