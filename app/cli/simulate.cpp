#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {
namespace {

constexpr auto kScenario = R"(A scenario:
  {
    "cluster": {"profile": "dgx-h100-ndr", "nodes": 4},
    "model": {"family": "llama", "layers": 32, "hidden": 4096, "heads": 32},
    "training": {"sequence_length": 4096, "micro_batch": 1, "global_batch": 64},
    "strategy": [{"name": "ddp"}, {"name": "zero-3", "recompute": "full"}]
  }
"model" may be {"hf_config": "PATH/config.json"} too, seen from the scenario's
folder. `twinstep profiles list` names the clusters. Strategies: naive, ddp,
zero-1 to -3, fsdp1, fsdp2, deepspeed-1 to -3, megatron.

--set reaches every part of the machine; a number in PATH counts the members of
a list from 0:
  --set cluster.gpu=h200-sxm-141
  --set cluster.gpu.memory_capacity='141 GB'
  --set cluster.fabric.levels.0.oversubscription=4
  --set strategy='{"name": "zero-2", "bucket": "1 GB"}')";

}  // namespace

void add_simulate(CLI::App& command, int& exit_code) {
  auto const options = std::make_shared<SimulateOptions>();
  command.add_option("SCENARIO", options->scenario, "JSON file: cluster, model, training, strategy")->required();
  command.add_option("--set", options->settings, "Replace a value, e.g. cluster.nodes=16")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command.add_option("--fidelity", options->fidelity, kFidelityHelp)
      ->check(CLI::IsMember({"exact", "folded", "closed"}));
  command.add_flag("--why", options->why, "Say what the step waits for, and which single\nchanges would help most");
  command.add_flag("--json", options->as_json, "Print one JSON document");
  command
      .add_option("--trace", options->trace, "Write the timeline: a Chrome trace for\nui.perfetto.dev and `compare`")
      ->type_name("FILE");
  command.add_option("--report", options->report, "Write the whole page of the scenario as HTML,\nlike `report`")
      ->type_name("FILE");
  command.footer(kScenario);
  command.callback([options, &exit_code] { exit_code = simulate(*options); });
}

}  // namespace twinstep::app
