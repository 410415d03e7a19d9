#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "reports/table.hpp"

namespace twinstep::app {

/// Throws the InputError of `print` where it is known beforehand that nothing can be printed.
void check_printable();

/// Prints on standard output, all of it now. Throws InputError where it cannot (a full disk, a closed stream).
void print(std::string_view text);

/// How to print on standard output: colours on a terminal that has any, never where NO_COLOR says something
/// (no-color.org), always where CLICOLOR_FORCE does (bixense.com/clicolors).
[[nodiscard]] reports::TextStyle standard_output_style();

/// One line on standard error, which may be closed.
void complain(std::string_view sentence);
/// The same, for what does not stop the answer.
void warn(std::string_view sentence);

/// Says on standard error which file was written, and its size.
void tell_written(std::string const& path);

/// The date in UTC, as records and profiles have it: "2026-11-30".
[[nodiscard]] std::string today();

}  // namespace twinstep::app
