#include "reports/render/page_parts.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"
#include "reports/table.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

bool is_number(std::string_view text) {
  for (std::string_view const sign : {"-", "−", "+", "±", "~", "<", ">"})
    if (text.starts_with(sign)) text.remove_prefix(sign.size());
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

ColumnKind kind_of(PageTable const& table, std::size_t column) {
  constexpr std::size_t kSentence = 32;  // columns of text from which a cell is broken into lines
  auto has_number = false;
  auto is_all_numbers = column > 0;
  for (auto const& row : table.rows) {
    if (column >= row.size()) continue;
    auto const& cell = row[column];
    if (display_width(cell) >= kSentence) return ColumnKind::kProse;
    has_number = has_number || is_number(cell);
    is_all_numbers = is_all_numbers && (is_number(cell) || cell == kNoValue || cell.empty());
  }
  return has_number && is_all_numbers ? ColumnKind::kNumber : ColumnKind::kText;
}

/// In binary units where that is a short whole number, as sizes of messages are; otherwise in decimal ones.
std::string bytes_text(double value) {
  auto const bytes = Bytes{std::llround(value)};
  auto const binary = memory_text(bytes);
  return binary.find(".0 ") != std::string::npos ? binary : traffic_text(bytes);
}

}  // namespace

std::vector<ColumnKind> column_kinds(PageTable const& table) {
  auto kinds = std::vector<ColumnKind>{};
  for (std::size_t i = 0; i < table.headers.size(); ++i) kinds.push_back(kind_of(table, i));
  return kinds;
}

std::size_t end_of_code(std::string_view text, std::size_t begin) {
  auto const end = text.find('`', begin + 1);
  return end == std::string_view::npos || end == begin + 1 ? begin : end + 1;
}

std::string copied_lines(std::vector<std::string> const& lines) {
  auto text = std::string{};
  for (auto const& line : lines) text += (text.empty() ? "" : "\n") + one_line(line);
  return text;
}

std::string number_text(double number) {
  constexpr double kGrouped = 999.95;
  constexpr double kMost = 1e15;
  auto const size = std::abs(number);
  return size >= kGrouped && size < kMost ? count_text(number) : fmt::format("{:.4g}", number);
}

std::string value_text(double value, Axis const& axis) {
  if (axis.categories.empty()) {
    if (axis.unit == "B") return bytes_text(value);
    return axis.unit.empty() ? number_text(value) : fmt::format("{} {}", number_text(value), one_line(axis.unit));
  }
  auto const index = static_cast<std::size_t>(std::max(0.0, value));
  return index < axis.categories.size() ? one_line(axis.categories[index]) : std::string{};
}

}  // namespace twinstep::reports
