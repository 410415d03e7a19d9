#pragma once

#include <string>
#include <string_view>

#include "reports/table.hpp"

namespace twinstep::app {

/// Writes a whole file or nothing: into a temporary file beside it first, which then takes its place. A device or a
/// pipe is written to as it is. Throws InputError where it cannot be written.
void write_file(std::string const& path, std::string_view text);

/// Prints on standard output, all of it now. Throws InputError where it cannot (a full disk, a closed stream).
void print(std::string_view text);

/// How to print on standard output: colours on a terminal only, never with NO_COLOR set.
[[nodiscard]] reports::TextStyle standard_output_style();

/// One line on standard error, which may be closed.
void complain(std::string_view sentence);
/// The same, for what does not stop the answer.
void warn(std::string_view sentence);

}  // namespace twinstep::app
