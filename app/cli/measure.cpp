#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {

void add_measure(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("measure", "Measure on this machine what would be predicted");
  command->require_subcommand(1);
  auto* const collective = command->add_subcommand("collective", "A sweep of one collective, as nccl-tests makes it");
  auto const options = std::make_shared<MeasureOptions>();
  constexpr auto kMost = 1'000'000;
  collective->add_option("--backend", options->backend, "What runs it: nccl")->required();
  collective->add_option("--op", options->op, kOpHelp);
  collective->add_option("-b", options->smallest, "Smallest size, such as 8, 64K, 1M (8)")->type_name("SIZE");
  collective->add_option("-e", options->largest, "Largest size, such as 128M, 8G (128M)")->type_name("SIZE");
  collective->add_option("-f", options->factor, "Factor from one size to the next (2)")->check(CLI::Range(2, kMost));
  collective->add_option("-n", options->iterations, "Launches that are timed (20)")->check(CLI::Range(1, kMost));
  collective->add_option("-w", options->warm_up, "Launches before them (5)")->check(CLI::Range(0, kMost));
  collective->add_option("-g", options->gpus, "GPUs of this process")->check(CLI::Range(1, kMost));
  collective->add_flag("--json", options->as_json, "Print one JSON document");
  collective->callback([options, &exit_code] { exit_code = measure_collective(*options); });
}

}  // namespace twinstep::app
