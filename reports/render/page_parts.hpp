#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/page/page.hpp"

/// What the renderers of pages share.
namespace twinstep::reports {

inline constexpr std::string_view kOriginTitle = "Where these numbers come from";
inline constexpr std::string_view kCommandsTitle = "Make this page again";

enum class ColumnKind : std::uint8_t {
  kText,
  kNumber,  ///< each cell begins with a digit or a sign, or stands for no value: to be aligned at the right
  kProse    ///< some cell is a sentence: to be broken into lines
};

/// What each column of the table holds; the first one is never of numbers, it names the row.
[[nodiscard]] std::vector<ColumnKind> column_kinds(PageTable const& table);

/// Where the code ends that begins with the backtick at `begin`: behind its second one. `begin` where none does.
[[nodiscard]] std::size_t end_of_code(std::string_view text, std::size_t begin);

/// Lines to be copied, with a line end between them; control characters in them are escaped.
[[nodiscard]] std::string copied_lines(std::vector<std::string> const& lines);

/// Four digits, "12,345" and "0.0123" too.
[[nodiscard]] std::string number_text(double number);

/// A value of the axis in four digits with its unit, or the name of the category.
[[nodiscard]] std::string value_text(double value, Axis const& axis);

}  // namespace twinstep::reports
