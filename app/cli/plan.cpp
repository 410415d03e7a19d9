#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/between.hpp"
#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {
namespace {

constexpr auto kPlanning = R"(The scenario gives model, cluster, sequence length, global batch, precision and
optimizer; strategy, groups, micro-batch, accumulation, recomputation and
offload are searched.
  twinstep plan SCENARIO.json --gpus 512
  twinstep plan SCENARIO.json --gpus 64..4096 --tokens 15T --deadline 60d
  twinstep plan SCENARIO.json --gpus 256,512 \
      --what-if 'cluster.node.nic=800 Gb/s,cluster.fabric.port=800 Gb/s'
  twinstep plan SCENARIO.json --tokens 15T --price "2.5 USD/GPU-hour@2026-11" \
      --power "10.2 kW/node" --pue 1.2 \
      --mtbf "50000 h/GPU" --checkpoint "2 TB/s" --restart "10 min"
Prices and power are yours to give: twinstep knows none.)";

void add_job(CLI::App& command, PlanOptions& options) {
  command.add_option("--tokens", options.tokens, "To train on, e.g. 15T: gives days, GPU-hours, cost")
      ->type_name("COUNT");
  command.add_option("--deadline", options.deadline, "The job is to end within, e.g. 30d")->type_name("TIME");
  command.add_option("--budget", options.budget, "It is to cost at most, e.g. \"2 M USD\"")->type_name("MONEY");
  command.add_option("--energy", options.energy, "It is to take at most, e.g. \"2 GWh\"")->type_name("ENERGY");
  command
      .add_option("--price", options.prices,
                  "\"2.5 USD/GPU-hour@2026-11\", with its date; several\nclusters may have one each")
      ->type_name("PRICE")
      ->allow_extra_args(false);
  command.add_option("--power", options.power, "\"10.2 kW/node\" or \"1275 W/GPU\"")->type_name("POWER");
  command.add_option("--pue", options.pue, "Power of the facility over its nodes'; 1 without")->type_name("FACTOR");
  command
      .add_option("--mtbf", options.mtbf,
                  "Mean time between failures, in place of what the\nGPU's profile says: \"50677 h/GPU\" is Llama "
                  "3's\n(419 in 54 days on 16,384 GPUs, arXiv 2407.21783)")
      ->type_name("TIME");
  command
      .add_option("--checkpoint", options.checkpoint,
                  "What a checkpoint stops training for, \"60 s\", or\nthe storage's rate, \"2 TB/s\"")
      ->type_name("TIME|RATE");
  command.add_option("--restart", options.restart, "From a failure until the job goes on: \"10 min\"")
      ->type_name("TIME");
  command
      .add_option("--critical-batch", options.critical_batch,
                  "Tokens of a global batch beyond which larger ones\nbuy little, e.g. \"4 M\"")
      ->type_name("COUNT");
}

}  // namespace

void add_plan(CLI::App& command, int& exit_code) {
  auto const options = std::make_shared<PlanOptions>();
  command.add_option("SCENARIO", options->scenario, "JSON file, as `simulate` takes it")->required();
  command.add_option("--gpus", options->gpus, "How many: 512, 64,128 or 64..4096; the cluster's\nwithout")
      ->type_name("RANGE");
  command.add_option("--cluster", options->clusters, "In place of the scenario's; may be given several\ntimes")
      ->type_name("CLUSTER")
      ->allow_extra_args(false);
  command
      .add_option("--strategy", options->strategies,
                  "Search this one only, a paper's zero-1 to zero-3\ntoo; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command.add_option("--set", options->settings, "Replace a value: training.sequence_length=8192")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--what-if", options->what_if,
                  "What this would change: one path or, with commas,\nseveral together; a text that holds a comma "
                  "goes\ninto \"…\". May be given several times")
      ->type_name("PATH=VALUE,…")
      ->allow_extra_args(false);
  command.add_option("--headroom", options->headroom, "Of each GPU's memory, left free; 5 % without")
      ->type_name("SHARE");
  add_job(command, *options);
  command.add_option("--top", options->top, "Plans to print; 10 without")->check(between(1, 100));
  command.add_flag("--json", options->as_json, "Print one JSON document");
  command.footer(kPlanning);
  command.callback([options, &exit_code] { exit_code = plan_training(*options); });
}

}  // namespace twinstep::app
