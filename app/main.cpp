#include <fmt/core.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "app/commands.hpp"
#include "app/version.hpp"
#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

namespace {

using namespace twinstep;
using namespace twinstep::app;

void add_simulate(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("simulate", "Predict one training step: time, memory, what it waits for");
  auto const options = std::make_shared<SimulateOptions>();
  command->add_option("SCENARIO", options->scenario, "JSON file with cluster, model, training and strategy")->required();
  command->add_option("--set", options->settings, "Replace a value of the scenario, e.g. --set cluster.nodes=16")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--json", options->as_json, "Print one JSON document");
  command->add_option("--trace", options->trace, "Write the timeline, a Chrome trace for ui.perfetto.dev and `compare`")
      ->type_name("FILE");
  command->callback([options, &exit_code] { exit_code = simulate(*options); });
}

void add_compare(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("compare", "Lay two timelines side by side, span by span");
  auto const options = std::make_shared<CompareOptions>();
  command->add_option("A", options->a, "Timeline written by --trace")->required();
  command->add_option("B", options->b, "Timeline written by --trace")->required();
  command->add_flag("--json", options->as_json, "Print one JSON document");
  command->callback([options, &exit_code] { exit_code = compare(*options); });
}

void add_profiles(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("profiles", "The machines that the program knows");
  command->require_subcommand(1);
  auto const add = [&](std::string const& name, std::string const& text, ProfilesOptions::Action action) {
    auto* const subcommand = command->add_subcommand(name, text);
    auto const options = std::make_shared<ProfilesOptions>();
    options->action = action;
    if (action != ProfilesOptions::Action::kList)
      subcommand->add_option("PROFILE", options->names, "A name, or a JSON file")
          ->required(action == ProfilesOptions::Action::kShow);
    subcommand->callback([options, &exit_code] { exit_code = profiles(*options); });
  };
  add("list", "List all profiles", ProfilesOptions::Action::kList);
  add("show", "Print a profile with the source of every number", ProfilesOptions::Action::kShow);
  add("check", "Check profiles against their schema and each other", ProfilesOptions::Action::kCheck);
}

int run(int argc, char** argv) {
  auto exit_code = int{kDone};
  auto program = CLI::App{"twinstep predicts how long a training step takes on a cluster, whether it fits, and what it waits for.",
                          "twinstep"};
  program.set_version_flag("--version", std::string{kVersion});
  program.require_subcommand(1);
  program.failure_message([](CLI::App const*, CLI::Error const& error) {
    return fmt::format("twinstep: {}; see twinstep --help\n", error.what());
  });
  add_simulate(program, exit_code);
  add_compare(program, exit_code);
  add_profiles(program, exit_code);
  try {
    program.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return program.exit(error) == 0 ? kDone : kInputWrong;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // memory that one simulation gives back is there for the next
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  try {
    return run(argc, argv);
  } catch (InputError const& error) {
    fmt::print(stderr, "twinstep: {}\n", error.what());
    return kInputWrong;
  } catch (std::exception const& error) {
    fmt::print(stderr, "twinstep: this is a bug in twinstep: {}\n", error.what());
    return kOurBug;
  }
}
