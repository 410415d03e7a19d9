#pragma once

#include <string>
#include <string_view>

#include "reports/table.hpp"

namespace twinstep::app {

/// Writes a whole file or nothing: into a temporary file beside it first. Throws InputError where it cannot be written.
void write_file(std::string const& path, std::string_view text);

/// How to print on standard output: colours on a terminal only, never with NO_COLOR set.
[[nodiscard]] reports::TextStyle standard_output_style();

/// One line on standard error.
void warn(std::string_view sentence);

}  // namespace twinstep::app
