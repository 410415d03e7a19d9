#pragma once

#include <string>
#include <vector>

namespace twinstep::app {

/// The arguments without what every subcommand understands: "help X" is "X --help", as git has it; "-" is standard
/// input, or standard output behind an option that names a file to write; --color auto|always|never, wherever it
/// stands, is left in the environment, where `standard_output_style` looks. Throws InputError for another word behind
/// --color.
[[nodiscard]] std::vector<std::string> without_manners(std::vector<std::string> arguments);

}  // namespace twinstep::app
