#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/between.hpp"
#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {
namespace {

constexpr auto kSweep = R"(A sweep:
  {
    "base": "examples/llama-2-7b-4xh100.json",
    "axes": {
      "cluster.nodes": [1, 2, 4, 8],
      "training.micro_batch": {"from": 1, "to": 8, "factor": 2},
      "cluster.node.nic": {"from": "200 Gb/s", "to": "800 Gb/s", "factor": 2},
      "strategy": [{"name": "fsdp2"}, {"name": "zero-1"}]
    },
    "constraints": ["training.micro_batch * cluster.nodes <= 4",
                    "cluster.node.nic <= '400 Gb/s'"]
  }
"base" is a scenario or its file, seen from the sweep's. Every combination of
the axes is a point. Settings that go together are "points", a list of objects
of paths. A point that is wrong or does not fit is a row with its reason, one
that breaks a constraint is left out.

  twinstep sweep examples/sweep-nodes.json --out nodes.sqlite --csv nodes.csv
  twinstep sweep examples/sweep-nodes.json --out nodes.sqlite --resume
  twinstep sweep nodes.sqlite --jsonl nodes.jsonl
  mpirun -n 4 twinstep sweep examples/sweep-nodes.json --out nodes.sqlite)";

}  // namespace

void add_sweep(CLI::App& command, int& exit_code) {
  auto const options = std::make_shared<SweepOptions>();
  command
      .add_option("SWEEP", options->sweep,
                  "JSON file: a base scenario and what varies.\nWithout --out a results file, to be exported")
      ->required();
  auto* const out = command.add_option("--out", options->out, "Results file, an SQLite database")->type_name("FILE");
  command.add_flag("--resume", options->resumes, "Go on with the results file where it is there")->needs(out);
  command.add_option("--jobs", options->jobs, "Threads of each process; default: all cores")
      ->check(between(1, 1024))
      ->needs(out);
  command.add_option("--max-points", options->max_points, "Refuse a larger sweep; default: 1000000")
      ->check(between(std::int64_t{1}, kMostPoints))
      ->needs(out);
  command.add_option("--fidelity", options->fidelity, kFidelityHelp)
      ->check(CLI::IsMember({"exact", "folded", "closed"}))
      ->needs(out);
  command
      .add_flag("--skip-allocator", options->skips_allocator,
                "Do not replay PyTorch's caching allocator: faster,\nand memory is what is allocated, no fragmentation")
      ->needs(out);
  command.add_option("--csv", options->csv, "Write all rows as comma-separated values")->type_name("FILE");
  command.add_option("--jsonl", options->jsonl, "Write all rows as JSON Lines")->type_name("FILE");
  command.add_flag("--json", options->as_json, "Print one JSON document about the sweep");
  command.footer(kSweep);
  command.callback([options, &exit_code] { exit_code = run_sweep(*options); });
}

}  // namespace twinstep::app
