#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/between.hpp"
#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {

void add_calibrate(CLI::App& command, int& exit_code) {
  auto const options = std::make_shared<CalibrateOptions>();
  command.add_option("CLUSTER", options->cluster, "The profile to begin with: a name, a file or facts")->required();
  command
      .add_option("--measurements", options->files,
                  "JSON records, as `twinstep measure` writes\nthem, or text logs of nccl-tests")
      ->required();
  command.add_option("--out", options->out, "The calibrated profile: names CLUSTER, and\noverrides what was fitted")
      ->required();
  command.add_option("--ranks", options->ranks, kRanksHelp)
      ->type_name("N")
      ->check(between(std::int64_t{1}, kMostRanksOfLog));
  command.add_flag("--json", options->as_json, "Print one JSON document");
  command.callback([options, &exit_code] { exit_code = calibrate(*options); });
}

}  // namespace twinstep::app
