#include "reports/render/page_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

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

/// Names in a column, values beside them.
std::string pairs_text(std::vector<std::pair<std::string, std::string>> const& pairs, TextStyle const& style) {
  auto width = std::size_t{0};
  for (auto const& [name, value] : pairs) width = std::max(width, display_width(one_line(name)));
  auto text = std::string{};
  for (auto const& [name, value] : pairs) {
    auto const shown = one_line(name);
    text += wrapped(one_line(value), "  " + shown + std::string(width - display_width(shown) + 2, ' '), style);
  }
  return text;
}

/// Sentences go below the table, behind the name of their row, so that its columns stay on the line.
std::string table_text(PageTable const& page_table, TextStyle const& style) {
  auto const kinds = column_kinds(page_table);
  auto columns = std::vector<Column>{};
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (i == 0 || kinds[i] != ColumnKind::kProse)
      columns.push_back({one_line(page_table.headers[i]),
                         kinds[i] == ColumnKind::kNumber ? Align::kRight : Align::kLeft,
                         kinds[i] != ColumnKind::kNumber});
  auto table = Table{columns};
  auto sentences = std::string{};
  for (auto const& row : page_table.rows) {
    auto cells = std::vector<Cell>{};
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      auto const cell = i < row.size() ? one_line(row[i]) : std::string{};
      if (i == 0 || kinds[i] != ColumnKind::kProse)
        cells.emplace_back(cell);
      else if (!cell.empty() && cell != "–")
        sentences += wrapped(fmt::format("{}: {}: {}", one_line(row.front()), one_line(page_table.headers[i]), cell),
                             "  ", style);
    }
    table.add_row(std::move(cells));
  }
  return heading(page_table.title, style) + table.render(style) + sentences;
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
