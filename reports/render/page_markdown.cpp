#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/render/chart_text.hpp"
#include "reports/render/page_files.hpp"
#include "reports/render/page_parts.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// `text` as itself: what Markdown gives a meaning to inside a line is behind a backslash. `Code` stays code, and an
/// underscore inside a word bare: whoever copies a name or a command from the source has it as it is. At the beginning
/// of a line texts stand behind something else, or begin with a character that is escaped here.
std::string escaped_markdown(std::string_view text) {
  constexpr std::string_view kSpecial = "\\`*_[]<>&|#~$";
  auto const line = one_line(text);
  auto out = std::string{};
  for (std::size_t i = 0; i < line.size(); ++i) {
    auto const code = line[i] == '`' ? line.substr(i, end_of_code(line, i) - i) : std::string{};
    if (!code.empty() && code.find('|') == std::string::npos) {  // a bar ends the cell of a table even in code
      out += code;
      i += code.size() - 1;
      continue;
    }
    auto const is_inside_word =
        line[i] == '_' && i > 0 && i + 1 < line.size() && is_alphanumeric(line[i - 1]) && is_alphanumeric(line[i + 1]);
    if (!is_inside_word && kSpecial.find(line[i]) != std::string_view::npos) out += '\\';
    out += line[i];
  }
  return out;
}

/// A paragraph. A first character that would begin a list is escaped.
std::string paragraph(std::string_view text) {
  if (text.empty()) return {};
  auto const* const list = std::string_view{"-+="}.find(text.front()) != std::string_view::npos ? "\\" : "";
  return fmt::format("{}{}\n\n", list, escaped_markdown(text));
}

std::string heading(std::string_view level, std::string_view title) {
  return title.empty() ? std::string{} : fmt::format("{} {}\n\n", level, escaped_markdown(title));
}

/// A block whose fence is longer than any run of backticks in it.
std::string fenced(std::string_view content) {
  auto fence = std::string{"```"};
  while (content.find(fence) != std::string_view::npos) fence += '`';
  return fmt::format("{}text\n{}{}{}\n\n", fence, content, content.ends_with('\n') ? "" : "\n", fence);
}

std::string row_text(std::vector<std::string> const& cells, std::size_t columns) {
  auto text = std::string{"|"};
  for (std::size_t i = 0; i < columns; ++i)
    text += fmt::format(" {} |", i < cells.size() ? escaped_markdown(cells[i]) : "");
  return text + "\n";
}

std::string table_text(PageTable const& table) {
  auto const kinds = column_kinds(table);
  auto text = table.title.empty() ? std::string{} : fmt::format("**{}**\n\n", escaped_markdown(table.title));
  text += row_text(table.headers, kinds.size()) + "|";
  for (auto const kind : kinds) text += kind == ColumnKind::kNumber ? "---:|" : "---|";
  text += "\n";
  for (auto const& row : table.rows) text += row_text(row, kinds.size());
  return text + "\n";
}

std::string pairs_text(std::vector<std::pair<std::string, std::string>> const& pairs) {
  auto text = std::string{};
  for (auto const& [name, value] : pairs)
    text += fmt::format("- {}: **{}**\n", escaped_markdown(name), escaped_markdown(value));
  return text.empty() ? text : text + "\n";
}

std::string section_text(Section const& section) {
  auto text = heading("##", section.title) + paragraph(section.text);
  for (auto const& chart : section.charts)
    text += heading("###", chart.title) + paragraph(chart.text) + fenced(chart_text(chart, {}));
  for (auto const& table : section.tables) text += table_text(table);
  for (auto const& note : section.notes) text += fmt::format("- {}\n", escaped_markdown(note));
  if (!section.notes.empty()) text += "\n";
  return section.code.empty() ? text : text + fenced(copied_lines(section.code));
}

std::string origin_text(Page const& page) {
  auto text = std::string{};
  if (!page.facts.empty()) text += heading("##", kOriginTitle) + pairs_text(page.facts);
  if (!page.commands.empty()) text += heading("##", kCommandsTitle) + fenced(copied_lines(page.commands));
  return text;
}

}  // namespace

std::string page_markdown(Page const& page) {
  auto text = heading("#", page.title) + paragraph(page.text);
  for (auto const& warning : page.warnings) text += fmt::format("> **Warning:** {}\n\n", escaped_markdown(warning));
  text += pairs_text(page.headlines);
  for (auto const& section : page.sections) text += section_text(section);
  text += origin_text(page);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace twinstep::reports
