#pragma once

#include <string_view>

#include "reports/table.hpp"

namespace twinstep::app {

/// Throws the InputError of `print` where it is known beforehand that nothing can be printed.
void check_printable();

/// Prints on standard output, all of it now. Throws InputError where it cannot (a full disk, a closed stream).
void print(std::string_view text);

/// How to print on standard output: colours on a terminal only, never with NO_COLOR set.
[[nodiscard]] reports::TextStyle standard_output_style();

/// One line on standard error, which may be closed.
void complain(std::string_view sentence);
/// The same, for what does not stop the answer.
void warn(std::string_view sentence);

}  // namespace twinstep::app
