#pragma once

#include <string>
#include <string_view>

#include "sim/io/change.hpp"

/// Words of a command line as a shell reads them.
namespace twinstep::reports {

/// The word in single quotes; $'a\x1b' where it has control characters, which a terminal would not only show.
[[nodiscard]] std::string quoted_in_shell(std::string_view word);

/// The word as it is where a shell takes it so, in quotes elsewhere.
[[nodiscard]] std::string shell_word(std::string_view word);

/// The option that makes the change, to be pasted behind a command: "--set 'cluster.nodes=16'".
[[nodiscard]] std::string option_in_shell(io::Change const& change);

}  // namespace twinstep::reports
