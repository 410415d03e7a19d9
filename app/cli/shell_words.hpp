#pragma once

#include <string>

namespace CLI {
class App;
}

/// What shells and `man` want to know of the program, made of the options that it declares.
namespace twinstep::app {

/// A script that completes subcommands, options and files, for `shell`: "bash", "zsh" or "fish". All options of
/// `program` are declared.
[[nodiscard]] std::string completion_script(CLI::App const& program, std::string const& shell);

/// A page of section 1, in troff's man macros: the help of the program and of each subcommand.
[[nodiscard]] std::string manual_page(CLI::App const& program);

}  // namespace twinstep::app
