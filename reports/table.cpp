#include "reports/table.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <sstream>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/utf8.hpp"

namespace twinstep::reports {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastWidth = 8;

std::string padded_cell(std::string_view text, std::size_t width, Align align, TextStyle const& style) {
  auto const shown = shortened(text, width);
  auto const content = bold(shown, style);
  auto const spaces = std::string(width - display_width(shown), ' ');
  return align == Align::kLeft ? content + spaces : spaces + content;
}

/// `text` in lines of `width` columns, where it is wider, broken at spaces.
std::vector<std::string> lines_of(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return {std::string{text}};
  auto stream = std::istringstream{wrapped(text, "", {.width = width})};
  auto lines = std::vector<std::string>{};
  for (auto line = std::string{}; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t longest_word(std::string_view text) {
  auto longest = std::size_t{0};
  for (auto const word : std::views::split(text, ' '))
    longest = std::max(longest, display_width({word.begin(), word.end()}));
  return longest;
}

/// A header with a space behind the dots of words wider than `width`: paths are broken there.
std::string broken_at_dots(std::string_view header, std::size_t width) {
  auto text = std::string{};
  for (auto const word : std::views::split(header, ' ')) {
    auto const whole = std::string_view{word.begin(), word.end()};
    if (!text.empty()) text += ' ';
    for (auto const c : whole) {
      text += c;
      if (c == '.' && display_width(whole) > width) text += ' ';
    }
  }
  return text;
}

/// Takes what the columns have too much from the widest, again and again, down to the `least` of each.
void shrink(std::vector<std::size_t>& widths, std::vector<std::size_t> const& least, std::size_t available) {
  auto total = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  for (; total > available; --total) {
    auto widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    if (widest == widths.size()) break;
    --widths[widest];
  }
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

std::string bold(std::string_view text, TextStyle const& style) {
  if (!style.is_terminal || text.empty()) return std::string{text};
  auto const line_end = text.ends_with('\n') ? std::string_view{"\n"} : std::string_view{};
  text.remove_suffix(line_end.size());
  return fmt::format("\x1b[1m{}\x1b[0m{}", text, line_end);  // ECMA-48 "select graphic rendition"
}

std::size_t display_width(std::string_view text) {
  return character_count(text);
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string{text};
  if (width == 0) return {};
  return std::string{text.substr(0, character_begin(text, width - 1))} + "…";
}

std::string wrapped(std::string_view text, std::string_view first, TextStyle const& style) {
  auto const indent = display_width(first);
  auto result = std::string{};
  auto line = std::string{first};
  auto has_word = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto const end = std::min(text.find(' ', begin), text.size());
    auto const word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    auto const width = display_width(word);
    auto const room = style.width - std::min(style.width, width);  // before the word, for it to end on the line
    auto const is_broken = has_word ? display_width(line) + 1 > room : indent > room && width <= style.width;
    if (is_broken) {
      end_line(line);
      result += line;
      line = std::string(std::min(indent, room), ' ');
    } else if (has_word) {
      line += ' ';
    }
    line += word;
    has_word = true;
  }
  end_line(line);
  return result + line;
}

void Table::add_row(std::vector<std::string> cells) {
  TWINSTEP_CHECK(cells.size() == columns_.size(), "a row has one cell for each column");
  rows_.push_back(std::move(cells));
}

Table::Widths Table::widths() const {
  auto widths = Widths{};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto const& column = columns_[i];
    auto cells = std::size_t{0};
    auto const header = longest_word(broken_at_dots(column.header, 0));
    auto word = header;
    for (auto const& row : rows_) {
      cells = std::max(cells, display_width(row[i]));
      word = std::max(word, longest_word(row[i]));
    }
    constexpr std::size_t kFewLines = 3;
    widths.natural.push_back(std::max(cells, display_width(column.header)));
    widths.uncut.push_back(column.may_shrink ? word : std::max(cells, header));
    widths.readable.push_back(std::max(widths.uncut.back(), widths.natural.back() / kFewLines));
    widths.least.push_back(column.may_shrink ? std::min(kLeastWidth, widths.natural.back()) : widths.uncut.back());
  }
  return widths;
}

std::size_t Table::readable_width() const {
  constexpr std::size_t kLongestWord = 24;
  auto const widths = this->widths();
  auto total = kGap * (columns_.size() - 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto const few_lines = widths.uncut[i] < widths.readable[i] ? widths.readable[i] : 0;
    total += std::max({widths.least[i], std::min(widths.uncut[i], kLongestWord), few_lines});
  }
  return total;
}

std::string Table::render(TextStyle const& style) const {
  auto [column_widths, readable, uncut, least] = widths();
  shrink(column_widths, readable, style.width);
  shrink(column_widths, uncut, style.width);
  shrink(column_widths, least, style.width);
  auto result = std::string{};
  auto const add_line = [&](auto const& cell_text) {
    auto line = std::string{};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      line += cell_text(i);
    }
    end_line(line);
    result += line;
  };
  auto const add = [&](std::vector<std::string> const& row, TextStyle const& cell_style) {
    auto lines = std::vector<std::vector<std::string>>{};  // by column
    auto height = std::size_t{1};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      lines.push_back(lines_of(row[i], column_widths[i]));
      height = std::max(height, lines.back().size());
    }
    for (std::size_t line = 0; line < height; ++line)
      add_line([&](std::size_t i) {
        auto const text = line < lines[i].size() ? std::string_view{lines[i][line]} : std::string_view{};
        return padded_cell(text, column_widths[i], columns_[i].align, cell_style);
      });
  };
  auto header = std::vector<std::string>{};
  for (std::size_t i = 0; i < columns_.size(); ++i)
    header.emplace_back(broken_at_dots(columns_[i].header, column_widths[i]));
  add(header, style);
  add_line([&](std::size_t i) { return std::string(column_widths[i], '-'); });
  for (auto const& row : rows_) add(row, {});
  return result;
}

}  // namespace twinstep::reports
