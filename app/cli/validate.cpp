#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {

void add_validate(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("validate", "Lay predictions beside measurements");
  command->require_subcommand(1);
  auto* const collectives = command->add_subcommand("collectives", "Measured sweeps of collectives");
  auto const options = std::make_shared<ValidateOptions>();
  collectives->add_option("FILE", options->files, "JSON records, or text logs of nccl-tests")->required();
  collectives->add_option("--cluster", options->cluster,
                          "The machine that was measured: a name or a file\n(the facts that each record states)");
  collectives->add_flag("--leave-one-out", options->leaves_out, "Predict each system by constants fitted without\nit");
  collectives->add_flag("--constants", options->shows_constants,
                        "Fit with every system left out, and print what was\nfitted instead of the errors");
  collectives->add_option("--max-mape", options->max_mape, "Exit with 1 if the mean error, in %, is larger");
  collectives->add_flag("--json", options->as_json, "Print one JSON document");
  collectives->callback([options, &exit_code] { exit_code = validate_collectives(*options); });
}

}  // namespace twinstep::app
