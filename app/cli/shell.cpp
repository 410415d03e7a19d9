#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/shell_words.hpp"
#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"

namespace twinstep::app {
namespace {

constexpr auto kInstall = R"(For the shells that you begin from now on:
  twinstep completion bash > ~/.local/share/bash-completion/completions/twinstep
  twinstep completion zsh > "${fpath[1]}/_twinstep"
  twinstep completion fish > ~/.config/fish/completions/twinstep.fish)";

/// The program that `command` is of, with the options of all its subcommands.
CLI::App const& whole_program(CLI::App& command, int& exit_code) {
  auto* const program = command.get_parent();
  for (auto const& [name, summary, add_options] : kSubcommands)
    if (name != command.get_name()) add_options(*program->get_subcommand(std::string{name}), exit_code);
  return *program;
}

}  // namespace

void add_completion(CLI::App& command, int& exit_code) {
  auto const shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.footer(kInstall);
  command.callback([shell, &command, &exit_code] {
    print(completion_script(whole_program(command, exit_code), *shell));
    exit_code = kDone;
  });
}

void add_man(CLI::App& command, int& exit_code) {
  command.callback([&command, &exit_code] {
    print(manual_page(whole_program(command, exit_code)));
    exit_code = kDone;
  });
}

}  // namespace twinstep::app
