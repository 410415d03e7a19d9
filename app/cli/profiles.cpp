#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {

void add_profiles(CLI::App& command, int& exit_code) {
  command.require_subcommand(1);
  auto const add = [&](std::string const& name, std::string const& text, ProfilesOptions::Action action) {
    auto* const subcommand = command.add_subcommand(name, text);
    auto const options = std::make_shared<ProfilesOptions>();
    options->action = action;
    if (action == ProfilesOptions::Action::kShow)
      subcommand->add_option("PROFILE", options->names, "A name that `twinstep profiles list` prints")->required();
    if (action == ProfilesOptions::Action::kCheck)
      subcommand->add_option("PROFILE", options->names, "A name, or a JSON file; without any, all that ship");
    subcommand->callback([options, &exit_code] { exit_code = profiles(*options); });
  };
  add("list", "List all profiles", ProfilesOptions::Action::kList);
  add("show", "Print a profile's file, with its sources", ProfilesOptions::Action::kShow);
  add("check", "Check profiles against their schema and each other", ProfilesOptions::Action::kCheck);
}

}  // namespace twinstep::app
