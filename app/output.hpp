#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "reports/table.hpp"

namespace twinstep::app {

/// Writes a whole file or nothing: into a temporary file beside it first, which then takes its place. A device or a
/// pipe is written to as it is. Throws InputError where it cannot be written.
void write_file(std::string const& path, std::string_view text);
/// The same piece by piece, for more than memory holds.
void write_file(std::string const& path, std::function<void(std::ostream&)> const& write);

/// Throws InputError where no file can be written at `path`, before anything is computed: an empty name, a directory, a
/// folder that is absent or closed to writing, one of the `inputs`, which it would replace. `option` is what named the
/// path: "--trace".
void check_writable(std::string_view option, std::string const& path, std::vector<std::string> const& inputs = {});

/// Prints on standard output, all of it now. Throws InputError where it cannot (a full disk, a closed stream).
void print(std::string_view text);

/// How to print on standard output: colours on a terminal only, never with NO_COLOR set.
[[nodiscard]] reports::TextStyle standard_output_style();

/// One line on standard error, which may be closed.
void complain(std::string_view sentence);
/// The same, for what does not stop the answer.
void warn(std::string_view sentence);

}  // namespace twinstep::app
