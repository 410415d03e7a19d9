#include "reports/render/page_table_text.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"
#include "reports/render/page_parts.hpp"
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

}  // namespace

std::string page_table_text(PageTable const& table, TextStyle const& style) {
  if (table.headers.empty()) return {};
  auto const kinds = column_kinds(table);
  auto const layout = layout_of(table, kinds, style.width);
  if (layout.is_one_table() || tells_rows_apart(table)) return text_of(table, kinds, layout, style);
  auto const numbered = with_numbers(table);
  auto const its_kinds = column_kinds(numbered);
  return text_of(numbered, its_kinds, layout_of(numbered, its_kinds, style.width), style);
}

}  // namespace twinstep::reports
