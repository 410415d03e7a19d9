#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/between.hpp"
#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {
namespace {

constexpr auto kMostMape = 1e6;

void add_collectives(CLI::App& command, int& exit_code) {
  auto* const collectives = command.add_subcommand("collectives", "Measured sweeps of collectives");
  auto const options = std::make_shared<ValidateOptions>();
  collectives->add_option("FILE", options->files, "JSON records, or text logs of nccl-tests")->required();
  collectives->add_option("--cluster", options->cluster,
                          "The machine that was measured: a name or a file\n(the facts that each record states)");
  collectives->add_option("--ranks", options->ranks, kRanksHelp)
      ->type_name("N")
      ->check(between(std::int64_t{1}, kMostRanksOfLog));
  collectives->add_flag("--leave-one-out", options->leaves_out, "Predict each system by constants fitted without\nit");
  collectives->add_flag("--constants", options->shows_constants,
                        "Fit with every system left out, and print what was\nfitted instead of the errors");
  collectives->add_flag("--cross-validate", options->cross_validates,
                        "Also calibrate each system to parts of its own\nmeasurements, and predict the others");
  collectives->add_option("--max-mape", options->max_mape, "Exit with 1 if the mean error, in %, is larger")
      ->check(between(0.0, kMostMape));
  collectives->add_flag("--json", options->as_json, "Print one JSON document");
  collectives->callback([options, &exit_code] { exit_code = validate_collectives(*options); });
}

void add_steps(CLI::App& command, int& exit_code) {
  auto* const steps = command.add_subcommand("steps", "Measured training steps: time, rate and memory");
  auto const options = std::make_shared<ValidateStepsOptions>();
  steps->add_option("FILE", options->files, "JSON records of training steps")->required();
  steps->add_option("--cluster", options->cluster,
                    "The machine that was measured: a name or a file\n(the facts that each record states)");
  steps->add_option("--max-mape", options->max_mape, "Exit with 1 if the mean error of speeds, in %, is\nlarger")
      ->check(between(0.0, kMostMape));
  steps->add_flag("--json", options->as_json, "Print one JSON document");
  steps->callback([options, &exit_code] { exit_code = validate_steps(*options); });
}

}  // namespace

void add_validate(CLI::App& command, int& exit_code) {
  command.require_subcommand(1);
  add_collectives(command, exit_code);
  add_steps(command, exit_code);
}

}  // namespace twinstep::app
