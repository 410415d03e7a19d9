#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <malloc.h>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/version.hpp"
#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

namespace {

using namespace twinstep;
using namespace twinstep::app;

constexpr auto kFidelity =
    "How closely the network is followed: exact (every\nmessage is an event), folded or closed (folded)";
constexpr auto kOps = "all_reduce (default), all_gather, reduce_scatter,\nbroadcast, all_to_all, …";

constexpr auto kAsk = R"(Ask, change the question, see the step:
  twinstep simulate SCENARIO.json
  twinstep simulate SCENARIO.json --set cluster.nodes=16 --json
  twinstep simulate SCENARIO.json --trace step.trace.json
`twinstep SUBCOMMAND --help` tells more.)";

constexpr auto kScenario = R"(A scenario:
  {
    "cluster": {"profile": "dgx-h100-ndr", "nodes": 4},
    "model": {"family": "llama", "layers": 32, "hidden": 4096, "heads": 32},
    "training": {"sequence_length": 4096, "micro_batch": 1, "global_batch": 64},
    "strategy": [{"name": "ddp"}, {"name": "zero-3", "recompute": "full"}]
  }
"model" may be {"hf_config": "PATH/config.json"} too, seen from the scenario's
folder. `twinstep profiles list` names the clusters. Strategies: naive, ddp,
zero-1, zero-2, zero-3.

--set reaches every part of the machine; a number in PATH counts the members of
a list from 0:
  --set cluster.gpu=h200-sxm-141
  --set cluster.gpu.memory_capacity='141 GB'
  --set cluster.fabric.levels.0.oversubscription=4
  --set strategy='{"name": "zero-2", "bucket": "1 GB"}')";

void add_simulate(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("simulate", "Predict one training step: time, memory, waiting");
  auto const options = std::make_shared<SimulateOptions>();
  command->add_option("SCENARIO", options->scenario, "JSON file: cluster, model, training, strategy")->required();
  command->add_option("--set", options->settings, "Replace a value, e.g. cluster.nodes=16")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command->add_option("--fidelity", options->fidelity, kFidelity)->check(CLI::IsMember({"exact", "folded", "closed"}));
  command->add_flag("--json", options->as_json, "Print one JSON document");
  command
      ->add_option("--trace", options->trace, "Write the timeline: a Chrome trace for\nui.perfetto.dev and `compare`")
      ->type_name("FILE");
  command->footer(kScenario);
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
    if (action == ProfilesOptions::Action::kShow)
      subcommand->add_option("PROFILE", options->names, "A name that `twinstep profiles list` prints")->required();
    if (action == ProfilesOptions::Action::kCheck)
      subcommand->add_option("PROFILE", options->names, "A name, or a JSON file; without any, all that ship");
    subcommand->callback([options, &exit_code] { exit_code = profiles(*options); });
  };
  add("list", "List all profiles", ProfilesOptions::Action::kList);
  add("show", "Print a profile's file, with its sources", ProfilesOptions::Action::kShow);
  add("check", "Check profiles against their schema and each other", ProfilesOptions::Action::kCheck);
}

void add_import(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("import", "Turn dumps and logs into profiles and records");
  command->require_subcommand(1);
  using Source = ImportOptions::Source;
  auto const add = [&](std::string const& name, std::string const& text, Source source) {
    auto* const subcommand = command->add_subcommand(name, text);
    auto const options = std::make_shared<ImportOptions>();
    options->source = source;
    subcommand->add_option("FILE", options->file, "The file to read")->required();
    subcommand->add_option("--out", options->out, "Write a file instead of printing")->type_name("FILE");
    if (source != Source::kNcclTests)
      subcommand->add_option("--gpu", options->gpu, "Profile of the GPUs, if the dump names none")
          ->type_name("PROFILE");
    if (source == Source::kNcclTopology)
      subcommand->add_flag("--repair", options->repairs, "Leave out impossible links instead of refusing");
    subcommand->callback([options, &exit_code] { exit_code = import_file(*options); });
  };
  add("nccl-topology", "A node profile from a file of NCCL_TOPO_DUMP_FILE", Source::kNcclTopology);
  add("nvidia-smi", "A node profile from `nvidia-smi topo -m`", Source::kNvidiaSmi);
  add("nccl-tests", "Records from a log of nccl-tests or rccl-tests", Source::kNcclTests);
}

void add_measure(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("measure", "Measure on this machine what would be predicted");
  command->require_subcommand(1);
  auto* const collective = command->add_subcommand("collective", "A sweep of one collective, as nccl-tests makes it");
  auto const options = std::make_shared<MeasureOptions>();
  constexpr auto kMost = 1'000'000;
  collective->add_option("--backend", options->backend, "What runs it: nccl")->required();
  collective->add_option("--op", options->op, kOps);
  collective->add_option("-b", options->smallest, "Smallest size, such as 8, 64K, 1M (8)")->type_name("SIZE");
  collective->add_option("-e", options->largest, "Largest size, such as 128M, 8G (128M)")->type_name("SIZE");
  collective->add_option("-f", options->factor, "Factor from one size to the next (2)")->check(CLI::Range(2, kMost));
  collective->add_option("-n", options->iterations, "Launches that are timed (20)")->check(CLI::Range(1, kMost));
  collective->add_option("-w", options->warm_up, "Launches before them (5)")->check(CLI::Range(0, kMost));
  collective->add_option("-g", options->gpus, "GPUs of this process")->check(CLI::Range(1, kMost));
  collective->add_flag("--json", options->as_json, "Print one JSON document");
  collective->callback([options, &exit_code] { exit_code = measure_collective(*options); });
}

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

void add_collective(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("collective", "Predict one collective, in nccl-tests' columns");
  auto const options = std::make_shared<CollectiveOptions>();
  command->add_option("CLUSTER", options->cluster, "A name, a file, or facts (below)")->required();
  command->add_option("--set", options->settings, "Replace a value, e.g. cluster.nodes=16")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command->add_option("--op", options->op, kOps);
  command->add_option("--ranks", options->ranks, "Ranks, one on each GPU (all GPUs)");
  command->add_option("-b", options->smallest, "Smallest size, such as 8, 64K, 1M (8)")->type_name("SIZE");
  command->add_option("-e", options->largest, "Largest size, such as 128M, 16G (1G)")->type_name("SIZE");
  command->add_option("-f", options->factor, "Factor from one size to the next (2)")->check(CLI::Range(2, 1'000'000));
  command->add_option("--dtype", options->type, "Element type: fp32, bf16, fp16, … (fp32)");
  command->add_option("--redop", options->reduction, "sum, average, max or min (sum)");
  command->add_option("--algorithm", options->algorithm, "Force one: ring, tree, nvls, nvlstree, pat, …");
  command->add_option("--protocol", options->protocol, "Force one: ll, ll128 or simple");
  command->add_option("--fidelity", options->fidelity, kFidelity);
  command->add_option("--launcher", options->launcher,
                      "How the benchmark is started, which decides the\nhost's part: process-per-gpu, one-process "
                      "or\npython (process-per-gpu)");
  command->add_flag("--explain", options->explains, "Print what NCCL chose from, and why");
  command->add_flag("--json", options->as_json, "Print one JSON document");
  command->footer(kCollective);
  command->callback([options, &exit_code] { exit_code = collective(*options); });
}

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

/// Every word where a subcommand stands is one. Throws InputError with the nearest.
void check_subcommands(CLI::App* command, std::vector<std::string> const& arguments) {
  for (auto const& argument : arguments) {
    auto known = std::vector<std::string>{};
    for (auto const* const each : command->get_subcommands(nullptr)) known.push_back(each->get_name());
    if (known.empty() || argument.starts_with("-")) return;
    if (std::ranges::find(known, argument) == known.end())
      throw InputError{fmt::format("found no subcommand called {}; {}", twinstep::quoted(argument),
                                   suggest_name(argument, {known.begin(), known.end()}))};
    command = command->get_subcommand(argument);
  }
}

/// What to do about an argument that nothing takes: the nearest option of the subcommands in use, or --help.
std::string way_out(CLI::App const& program) {
  auto known = std::vector<std::string>{};
  auto in_use = std::string{};
  for (auto const* command = &program; command != nullptr;) {
    in_use += command->get_name() + " ";
    for (auto const* const option : command->get_options())
      for (auto const& name : option->get_lnames()) known.push_back("--" + name);
    auto const used = command->get_subcommands();
    command = used.empty() ? nullptr : used.front();
  }
  auto const extra = program.remaining(true);
  auto const near = extra.empty() ? std::string_view{} : nearest_name(extra.front(), {known.begin(), known.end()});
  return near.empty() ? fmt::format("see {}--help", in_use) : fmt::format("did you mean {}?", near);
}

int run(int argc, char** argv) {
  auto exit_code = int{kDone};
  auto program = CLI::App{
      "twinstep predicts how long a training step takes on a cluster, whether it fits,\nand what it waits for.",
      "twinstep"};
  program.set_version_flag("--version", std::string{kVersion});
  program.require_subcommand(1);
  program.failure_message([&program](CLI::App const*, CLI::Error const& error) {
    return fmt::format("twinstep: {}; {}\n", one_line(error.what()), way_out(program));
  });
  add_simulate(program, exit_code);
  add_compare(program, exit_code);
  add_profiles(program, exit_code);
  add_collective(program, exit_code);
  add_validate(program, exit_code);
  add_import(program, exit_code);
  add_measure(program, exit_code);
  program.footer(kAsk);  // after the subcommands, which would inherit it
  check_subcommands(&program, {argv + 1, argv + argc});
  try {
    program.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    auto out = std::ostringstream{};
    if (program.exit(error, out, std::cerr) != 0) return kInputWrong;
    print(out.str());
    return kDone;
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
    complain(error.what());
    return kInputWrong;
  } catch (std::exception const& error) {
    complain(fmt::format("this is a bug in twinstep: {}", error.what()));
    return kOurBug;
  }
}
