#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {

void add_compare(CLI::App& command, int& exit_code) {
  auto const options = std::make_shared<CompareOptions>();
  command.add_option("A", options->a, "Timeline written by --trace")->required();
  command.add_option("B", options->b, "Timeline written by --trace")->required();
  command.add_flag("--json", options->as_json, "Print one JSON document");
  command.callback([options, &exit_code] { exit_code = compare(*options); });
}

}  // namespace twinstep::app
