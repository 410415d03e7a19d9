#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/between.hpp"
#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {
namespace {

constexpr auto kCollective = R"(CLUSTER is a name that `twinstep profiles list` prints, a file, or the physical
facts:
  twinstep collective dgx-h100-ndr --ranks 16 -b 8 -e 16G --explain
  twinstep collective '{"gpu": "h200", "gpus_per_node": 8, "nodes": 4,
    "fabric": "roce", "nics_per_node": 8, "nic_gbps": 400}' --op all_gather

With other settings or another version of NCCL, or a slow link (broken without
"rate"):
  --set cluster.library.environment.NCCL_NVLS_ENABLE=0
  --set cluster.library.version=2.29.7
  --set cluster.faults='[{"resource": "nic3", "node": 0, "rate": 0.5}]'
The columns are those of nccl-tests; `twinstep validate collectives LOG` lays a
log beside the prediction.)";

}  // namespace

void add_collective(CLI::App& command, int& exit_code) {
  auto const options = std::make_shared<CollectiveOptions>();
  command.add_option("CLUSTER", options->cluster, "A name, a file, or facts (below)")->required();
  command.add_option("--set", options->settings, "Replace a value, e.g. cluster.nodes=16")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command.add_option("--op", options->op, kOpHelp);
  command.add_option("--ranks", options->ranks, "Ranks, one on each GPU (all GPUs)");
  command.add_option("-b", options->smallest, "Smallest size, such as 8, 64K, 1M (8)")->type_name("SIZE");
  command.add_option("-e", options->largest, "Largest size, such as 128M, 16G (1G)")->type_name("SIZE");
  command.add_option("-f", options->factor, "Factor from one size to the next (2)")->check(between(2, 1'000'000));
  command.add_option("--dtype", options->type, "Element type: fp32, bf16, fp16, … (fp32)");
  command.add_option("--redop", options->reduction, "sum, average, max or min (sum)");
  command.add_option("--algorithm", options->algorithm, "Force one: ring, tree, nvls, nvlstree, pat, …");
  command.add_option("--protocol", options->protocol, "Force one: ll, ll128 or simple");
  command.add_option("--fidelity", options->fidelity, kFidelityHelp);
  command.add_option("--launcher", options->launcher,
                     "How the benchmark is started, which decides the\nhost's part: process-per-gpu, one-process "
                     "or\npython (process-per-gpu)");
  command.add_flag("--explain", options->explains, "Print what NCCL chose from, and why");
  command.add_flag("--json", options->as_json, "Print one JSON document");
  command.footer(kCollective);
  command.callback([options, &exit_code] { exit_code = collective(*options); });
}

}  // namespace twinstep::app
